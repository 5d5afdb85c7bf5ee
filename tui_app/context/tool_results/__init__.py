"""The governor's reversible stages: each a pure decision about the view, applied as one recorded rewrite."""
