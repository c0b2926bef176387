import type { FigureFamily, Sample } from '../../core/contract/families.js';
import { DROP_REASONS, urlOf, type Signal } from './export-messages.js';
import type { Exporter, SignalCounters } from './exporter.js';

type Counters = Readonly<Record<Signal, SignalCounters>>;

/** Records of one signal. */
export interface SignalView {
  readonly exported: number;
  readonly dropped: Readonly<Record<string, number>>;
  /** Records that were not exported yet. */
  readonly waiting: number;
}

/** State of the export, for `/v1/telemetry`: of spans, and in `logs` and `metrics` of the others. */
export interface TelemetryView extends SignalView {
  /** Null: there is no `otel_exporter`. */
  readonly endpoint: string | null;
  readonly logs: SignalView;
  readonly metrics: SignalView;
  /** Times in the form of ISO 8601; null: never. */
  readonly lastExport: string | null;
  readonly lastFailure: { readonly at: string; readonly error: string } | null;
}

export function telemetryView(exporter: Exporter, counters: Counters): TelemetryView {
  const { settings, lastExport, lastFailure } = exporter;
  const view = (signal: Signal): SignalView => {
    const { exported, dropped } = counters[signal];
    const drops = Object.fromEntries(DROP_REASONS.map((reason) => [reason, dropped[reason].value]));
    return { exported: exported.value, dropped: drops, waiting: exporter.waiting(signal) };
  };
  return {
    endpoint: settings === undefined ? null : urlOf(settings, 'traces'),
    ...view('traces'),
    logs: view('logs'),
    metrics: view('metrics'),
    lastExport: lastExport === undefined ? null : new Date(lastExport).toISOString(),
    lastFailure: lastFailure === undefined ? null : { at: new Date(lastFailure.at).toISOString(), error: lastFailure.text },
  };
}

const FAMILIES: readonly (readonly [signal: Signal, name: string, noun: string])[] = [
  ['traces', 'spans', 'Spans'],
  ['logs', 'logs', 'Log records'],
  ['metrics', 'figures', 'Figures'],
];

export function exportFamilies(counters: Counters): readonly FigureFamily[] {
  return FAMILIES.flatMap(([signal, name, noun]): readonly FigureFamily[] => {
    const { exported, dropped } = counters[signal];
    return [
      {
        name: `srv_telemetry_${name}_exported`,
        kind: 'counter',
        help: `${noun} that a collector has accepted.`,
        samples: [{ labels: {}, value: exported.value }],
      },
      {
        name: `srv_telemetry_${name}_dropped`,
        kind: 'counter',
        help: `${noun} that no collector has got, by reason.`,
        samples: DROP_REASONS.map((reason): Sample => ({ labels: { reason }, value: dropped[reason].value })),
      },
    ];
  });
}
