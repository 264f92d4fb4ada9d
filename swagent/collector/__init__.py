"""A small SkyWalking collector for development: keeps what agents send, shows it in the browser, prints each trace.

    gRPC, HTTP, Kafka --> intake --> store --> api --> page, in the browser
                                       |
                                       +--> live --tree, view--> terminal

intake/  grpc (with message_reader, admission, connections, codec), http and kafka bring messages in; messages and
         translation make records of them; commands answers who asks for profile tasks
store/   protocol and wire_check read bytes strictly; trace_translation, segment_index and rows make rows of them; store
         stands on keeper, and both on database and schema (SQLite), ring and limits (bounds), series, instances,
         profile_tasks, shelf; arrivals wakes those who wait; records and trace_records are what it gives out
api/     app with parameters and changes; calls (through memo), traces, logs, meters, instances and profiles (with
         stack_tree and frames) answer, piece by piece (pace), page by page (cursor); profile_order takes orders
page/    the page itself
gate.py, http_server.py   who may look; both HTTP servers
live.py, view.py          join a trace's segments (api/tree.py) and print them

`server.Collector` puts intake, store and page together, `command` adds the terminal. Importing this package imports
none of them.
"""
