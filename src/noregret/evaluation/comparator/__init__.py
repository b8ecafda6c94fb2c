"""The best fixed model in hindsight: a batch solver with certificates, and regret against what it finds."""
