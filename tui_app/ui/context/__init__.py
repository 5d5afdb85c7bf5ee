"""The context screen: what is sent, and its receipts."""
