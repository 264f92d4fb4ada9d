"""A small SkyWalking collector for development: keeps what agents send in memory, prints each trace as a tree.

    wire bytes --codec--> message --translation--> record --> store --> live --tree, view--> terminal
    \\_________________ intake ______________________/            \\--> queries, wait_for

Three parts that know each other only through the records:

intake   grpc_intake, codec, wire_check, translation: what arrives, made into records
store    records, store, shelf: bounded, in memory, answers queries
view     tree, view, live: joins a trace's segments and prints them

`server.Collector` puts intake and store together, `command` adds the view and the terminal. Importing this
package imports none of them; only `server` and what it needs import grpclib and betterproto.
"""
