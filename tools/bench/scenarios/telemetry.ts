import type { Scenario } from '../scenario.js';
import { telemetryCosts } from '../telemetry-cost.js';

export const telemetryScenario: Scenario = {
  name: 'telemetry',
  title: 'Telemetry: a request with one attempt at a member',
  how:
    'In the process of the benchmark: what telemetry adds to the processor time of a worker for a request, the fastest of several rounds: handlers, fields for the ' +
    'member, records of both spans and their way to the main thread. Encoding and sending them is work of another thread.',
  columns: [
    { key: 'byRatio', title: 'not sampled, by `ratio`', unit: 'µs', digits: 2 },
    { key: 'byClient', title: 'by the client', unit: 'µs', digits: 2 },
    { key: 'sampled', title: 'sampled', unit: 'µs', digits: 2 },
    { key: 'sampledByClient', title: 'by the client', unit: 'µs', digits: 2 },
    { key: 'notKept', title: '`telemetry_keep`, not kept', unit: 'µs', digits: 2 },
  ],
  oursOnly: true,
  obstacle: () => undefined,
  measure: telemetryCosts,
};
