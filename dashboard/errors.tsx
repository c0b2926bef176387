/** Which errors there are, since when, and where they come from. */
import { clock, codesText, count, duration, percent, rate } from './format.js';
import { live } from './live.js';
import { LogLines, useLog } from './log-lines.js';
import { Missing, Panel } from './shell.js';
import { Table, type Column } from './table.js';
import type { FailingRow } from './types.js';
import { useValue } from './value.js';

const KEPT = 200;
/** Failed requests, and what the server says about them. */
const FILTERS = ['status>=500', 'level>=error'] as const;
/** From what clients see to where it comes from. */
const KINDS: readonly (readonly [section: string, word: string])[] = [
  ['servers', 'server'],
  ['locations', 'location'],
  ['upstreams', 'upstream'],
  ['stream_servers', 'stream server'],
  ['stream_upstreams', 'stream upstream'],
];

function kindOf({ section, part }: FailingRow): string {
  return part === undefined ? (KINDS.find(([name]) => name === section)?.[1] ?? section) : 'member';
}

function orderOf({ section, part }: FailingRow): number {
  return KINDS.findIndex(([name]) => name === section) * 2 + (part === undefined ? 0 : 1);
}

function Name({ row: { section, name, part } }: { readonly row: FailingRow }) {
  const engine = section.startsWith('stream') ? 'stream' : 'http';
  if (!section.endsWith('upstreams')) return <>{name}</>;
  return <a href={`#/upstreams/${engine}/${encodeURIComponent(name)}`}>{part === undefined ? name : `${part} of ${name}`}</a>;
}

function columnsOf(now: number): readonly Column<FailingRow>[] {
  return [
    { title: 'Where', of: (row) => <Name row={row} /> },
    { title: 'Kind', of: (row) => <span class="muted">{kindOf(row)}</span> },
    { title: 'Errors/s', isNumber: true, of: ({ errors }) => <span class={errors > 0 ? 'bad' : 'muted'}>{rate(errors)}</span> },
    { title: 'Share', isNumber: true, of: ({ errors, requests }) => percent(errors, requests) },
    {
      title: 'Since',
      isNumber: true,
      of: ({ since }) => (
        <time dateTime={new Date(since).toISOString()}>
          {clock(since, now)}, {duration(now - since)}
        </time>
      ),
    },
    { title: 'Statuses since then', of: ({ codes }) => codesText(codes) },
  ];
}

export function Errors() {
  const statistics = useValue(live.statistics);
  const now = useValue(live.now);
  const rows = statistics?.failing.toSorted((one, other) => orderOf(one) - orderOf(other) || other.errors - one.errors) ?? [];
  return (
    <>
      <h1 class="hidden">Errors</h1>
      <Panel title="Failing now" note="1 % of the responses or more are 5xx, or attempts without a response">
        {statistics === undefined ? (
          <Missing part="statistics" />
        ) : rows.length === 0 ? (
          <p class="empty">No server, location, upstream or member fails.</p>
        ) : (
          <Table
            label="Failing now"
            rows={rows}
            columns={columnsOf(now)}
            id={({ section, name, part }) => JSON.stringify([section, name, part])}
          />
        )}
      </Panel>
      <Failures />
    </>
  );
}

function Failures() {
  const { entries, error } = useLog(FILTERS, KEPT);
  const failed = entries.filter(({ kind }) => kind === 'access').length;
  return (
    <Panel
      title="Failed requests and errors of the log"
      note={failed === 0 ? 'since this page was opened' : `${count(failed)} requests since this page was opened`}
    >
      {error !== '' && <p class="empty">Not available: {error}</p>}
      {error === '' && entries.length === 0 && <p class="empty">None so far. They are shown as they come.</p>}
      <LogLines entries={entries} label="Failed requests and errors, the newest first" />
    </Panel>
  );
}
