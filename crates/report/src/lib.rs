//! Renders answers: terminal, JSON, CSV, HTML.
