"""The soak: applications under load, while one random fault follows the other, for minutes or for hours.

    python -m stress soak --minutes 30 --seed 7

For each transport on each event loop there is one application, in a process of its own, with the middleware; its
collector or broker; and a proxy between the two. Every request makes one segment and one log record. All of them bear
the request's number in their trace id, so it can be said of each single record what became of it:

    load --requests--> application --records--> proxy --> sink
     |  numbers answered   | numbers confirmed            | numbers that came, each as often as it came
     |                     | ledger, memory, descriptors, tasks: every two seconds
     +---------------------+------------------------------+--> verdict

The faults come from a seed: the same seed, number and interval give the same faults at the same times. They hit all
applications alike, so every one of them lives through the whole list.

What must hold, for each application (`verdict`): every request was answered; the ledger balanced whenever it was
looked at; as many records were offered as requests answered; nothing came twice; what was confirmed came; what came
and was not confirmed was counted as ambiguous; after the last fault everything flows again; memory, descriptors,
threads and tasks did not grow; the output has no traceback, and no more than one line per reason in 30 seconds;
SIGTERM ended it in time.

`plan` the faults, `faults` what they do, `applications` and `application` what is under test, `sinks`, `sink_process`
and `broker` where the records go, `load` the requests, `places` one of each for each cell, `evidence` what was seen,
`verdict`, `growth` and `trend` what is wrong with it, `report` its text, `run` from start to end.
"""
