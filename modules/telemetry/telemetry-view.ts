import type { FigureFamily, Sample } from '../../core/contract/families.js';
import { DROP_REASONS } from './export-messages.js';
import type { Exporter, SpanCounters } from './exporter.js';

/** State of the export, for `/v1/telemetry`. */
export interface TelemetryView {
  /** Null: there is no `otel_exporter`. */
  readonly endpoint: string | null;
  readonly exported: number;
  readonly dropped: Readonly<Record<string, number>>;
  /** Spans that were not exported yet. */
  readonly waiting: number;
  /** Times in the form of ISO 8601; null: never. */
  readonly lastExport: string | null;
  readonly lastFailure: { readonly at: string; readonly error: string } | null;
}

export function telemetryView(exporter: Exporter, { exported, dropped }: SpanCounters): TelemetryView {
  const { settings, waiting, lastExport, lastFailure } = exporter;
  return {
    endpoint: settings?.url ?? null,
    exported: exported.value,
    dropped: Object.fromEntries(DROP_REASONS.map((reason) => [reason, dropped[reason].value])),
    waiting,
    lastExport: lastExport === undefined ? null : new Date(lastExport).toISOString(),
    lastFailure: lastFailure === undefined ? null : { at: new Date(lastFailure.at).toISOString(), error: lastFailure.text },
  };
}

export function spanFamilies({ exported, dropped }: SpanCounters): readonly FigureFamily[] {
  const drops = DROP_REASONS.map((reason): Sample => ({ labels: { reason }, value: dropped[reason].value }));
  return [
    {
      name: 'srv_telemetry_spans_exported',
      kind: 'counter',
      help: 'Spans that a collector has accepted.',
      samples: [{ labels: {}, value: exported.value }],
    },
    { name: 'srv_telemetry_spans_dropped', kind: 'counter', help: 'Spans that no collector has got, by reason.', samples: drops },
  ];
}
