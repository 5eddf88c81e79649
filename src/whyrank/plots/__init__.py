"""Plots on matplotlib axes: heat map, lines, bars, scatter, graph, flow, marked text; they know no results.

Each kind has a function that draws on axes and returns them (`draw_bars`), and where reports need whole figures
one that returns SVG (`interval_bars`). `style.svg_of` makes SVG of whatever draws on axes.
"""
