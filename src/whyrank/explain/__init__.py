"""Why a document scores as it does, in words and figures."""
