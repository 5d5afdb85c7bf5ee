"""Import of transcripts from other programs."""
