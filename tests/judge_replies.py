"""What a judge is told and what it says back, for tests."""

from loopback_replies import calls, says

FRAME = "You judge answers."


def is_for_judge(request):
    return str(request.messages[0].get("content", "")).startswith(FRAME)


def fenced_text(request, name):
    """The text between the tags of that name, as the judge was shown it."""
    user = next(message["content"] for message in request.messages if message["role"] == "user")
    start = user.index(f"<{name}-")
    key = user[start + len(name) + 2 :].partition(">")[0]
    return user.partition(f"<{name}-{key}>\n")[2].partition(f"\n</{name}-{key}>")[0]


def as_asked(request, choice, reason="It is so."):
    """A verdict in the form that was asked for."""
    if "response_format" in request.body or "text" in request.body:
        return says(f'{{"reason": "{reason}", "choice": "{choice}"}}')
    if request.tools:
        return calls((request.tools[0], {"reason": reason, "choice": choice}))
    return says(f"{reason}\nChoice: {choice}")
