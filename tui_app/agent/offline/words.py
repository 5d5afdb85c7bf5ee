"""English words that say nothing about what a prompt is looking for."""

STOP_WORDS = frozenset(
    {
        "a", "about", "above", "after", "again", "all", "also", "an", "and", "any", "anything",
        "are", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
        "but", "by", "called", "can", "cannot", "code", "could", "define", "defined", "definition",
        "describe", "did", "do", "does", "doing", "done", "down", "during", "each", "exactly",
        "explain", "few", "file", "files", "find", "for", "from", "further", "get", "gets", "give",
        "go", "goes", "had", "happen", "happens", "has", "have", "having", "he", "hello", "help",
        "her", "here", "hers", "hey", "hi", "him", "his", "how", "i", "if", "implement",
        "implementation", "implemented", "in", "into", "is", "it", "its", "just", "know", "let",
        "like", "line", "lines", "look", "made", "make", "makes", "many", "me", "mean", "means",
        "more", "most", "much", "my", "need", "no", "nor", "not", "now", "of", "off", "ok", "okay",
        "on", "once", "only", "or", "other", "our", "out", "over", "own", "place", "please",
        "project", "put", "really", "s", "same", "say", "says", "see", "she", "should", "show",
        "so", "some", "something", "such", "take", "tell", "than", "thank", "thanks", "that", "the",
        "their", "them", "then", "there", "these", "they", "thing", "things", "this", "those",
        "through", "to", "too", "under", "until", "up", "use", "used", "uses", "using", "very",
        "want", "was", "way", "we", "were", "what", "when", "where", "whether", "which", "while",
        "who", "whom", "whose", "why", "will", "with", "work", "works", "would", "yes", "you",
        "your",
    }
)  # fmt: skip
