"""The GraphQL documents that graphql.py sends; each answers under the alias `found`."""

from __future__ import annotations

SERVICES = "query ($layer: String) { found: listServices(layer: $layer) { name layers } }"

INSTANCES = """query ($service: ID!, $duration: Duration!) {
  found: listInstances(serviceId: $service, duration: $duration) { name language attributes { name value } }
}"""

ENDPOINTS = "query ($service: ID!) { found: findEndpoint(serviceId: $service, limit: 100) { name } }"

TRACES = """query ($condition: TraceQueryCondition) {
  found: queryBasicTraces(condition: $condition) {
    traces { segmentId endpointNames duration isError traceIds }
  }
}"""

TRACE = """query ($id: ID!) {
  found: queryTrace(traceId: $id) {
    spans {
      serviceCode serviceInstanceName segmentId spanId parentSpanId endpointName type layer component peer
      isError startTime endTime
      tags { key value }
      logs { time data { key value } }
      refs { traceId parentSegmentId parentSpanId type }
    }
  }
}"""

LOGS = """query ($condition: LogQueryCondition) {
  found: queryLogs(condition: $condition) {
    logs { serviceName serviceInstanceName endpointName traceId timestamp content tags { key value } }
  }
}"""

METER = """query ($expression: String!, $entity: Entity!, $duration: Duration!) {
  found: execExpression(expression: $expression, entity: $entity, duration: $duration) {
    error results { values { value } }
  }
}"""

EVENTS = """query ($condition: EventQueryCondition) {
  found: queryEvents(condition: $condition) {
    events { uuid name type message source { serviceInstance } parameters { key value } }
  }
}"""

MAP = """query ($service: ID!, $duration: Duration!) {
  found: getServiceTopology(serviceId: $service, duration: $duration) { nodes { name type } }
}"""
