"""Plots on matplotlib axes: heat map, lines, flow, marked text; they know no results."""
