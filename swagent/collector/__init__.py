"""A small SkyWalking collector for development: keeps what agents send, shows it in the browser, prints each trace.

    gRPC, HTTP, Kafka --> protocol --> intake --> store --> queries --> page_server --> browser
                                                    \\\\--> live --tree, view--> terminal

intake   grpc_intake (with message_reader, admission, connections, codec), http_intake, kafka_intake bring messages in;
         protocol and wire_check read them strictly; intake, translation, trace_translation, segment_index make rows
         and records of them
store    store stands on keeper, and both on database and schema (SQLite), ring (bounds), series, instances, shelf;
         arrivals tells those who wait; records and trace_records are what it gives out
page     page_server with gate, parameters, changes; calls_query (through memo), traces_query, logs_query, meters_query
         and instances_query answer, piece by piece (pace), page by page (cursor); http_server runs both HTTP servers
view     tree, view, live: joins a trace's segments and prints them

`server.Collector` puts intake, store and page together, `command` adds the terminal. Importing this package imports
none of them.
"""
