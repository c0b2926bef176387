/** Limits of requests and connections, and challenges: rates, and how many requests met them. */
import { count, percent } from './format.js';
import { live } from './live.js';
import { useRead } from './read.js';
import { FULL, fillOf } from './problems.js';
import { Panel } from './shell.js';
import { State } from './state-mark.js';
import { Nothing, Table, type Column } from './table.js';
import type { LimitFigures } from './types.js';
import { useValue } from './value.js';

interface LimitSettings {
  readonly limit_rps?: readonly { readonly zone: string; readonly rate: string }[];
}
type Fields = Readonly<Record<string, unknown>>;

interface Zone {
  readonly name: string;
  readonly rate: string;
  readonly figures: LimitFigures;
}

/** Figures that are no results of requests. */
const OF_THE_ZONE = new Set(['entries', 'capacity', 'evicted']);

/** Columns of all simple values of these objects, the first one by its name. */
function columnsOf(rows: readonly Fields[], first: string): readonly Column<Fields>[] {
  const names = [
    ...new Set(rows.flatMap((row) => Object.entries(row).flatMap(([name, value]) => (typeof value === 'object' ? [] : [name])))),
  ];
  const ordered = [first, ...names.filter((name) => name !== first)];
  return ordered.map((name) => {
    const isNumber = name !== first && rows.some((row) => typeof row[name] === 'number');
    return { title: name.replaceAll('_', ' '), isNumber, of: (row) => shown(row[name], isNumber) };
  });
}

function shown(value: unknown, isNumber: boolean): string {
  if (typeof value === 'number') return isNumber && !Number.isInteger(value) ? value.toFixed(1) : isNumber ? count(value) : String(value);
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : '–';
}

function Fill({ figures }: { readonly figures: LimitFigures }) {
  const fill = fillOf(figures);
  if (fill === undefined) return <>–</>;
  if (fill >= FULL) return <State state="warn" word="full" />;
  return (
    <span class="ratio">
      <meter value={fill} aria-hidden="true" />
      {percent(fill, 1)}
    </span>
  );
}

export function Limits() {
  const statistics = useValue(live.statistics);
  const settings = useRead<LimitSettings>('/config/http_dyn_limit', 15_000);
  const captcha = useRead<readonly Fields[]>('/captcha', 3000);
  const rates = new Map((settings.data?.limit_rps ?? []).map(({ zone, rate }) => [zone, rate]));
  const figures = statistics?.limits ?? {};
  const zones: readonly Zone[] = [...new Set([...rates.keys(), ...Object.keys(figures)])]
    .sort()
    .map((name) => ({ name, rate: rates.get(name) ?? '–', figures: figures[name] ?? {} }));
  const results = [...new Set(zones.flatMap(({ figures: counted }) => Object.keys(counted)))].filter((name) => !OF_THE_ZONE.has(name));
  const columns: readonly Column<Zone>[] = [
    { title: 'Zone', of: ({ name }) => name },
    { title: 'Rate', of: ({ rate }) => rate },
    { title: 'Fill', isNumber: true, of: ({ figures: counted }) => <Fill figures={counted} /> },
    { title: 'Keys', isNumber: true, of: ({ figures: { entries } }) => count(entries) },
    { title: 'Dropped for new ones', isNumber: true, of: ({ figures: { evicted } }) => count(evicted) },
    ...results.map((result): Column<Zone> => ({
      title: result.replaceAll('_', ' '),
      isNumber: true,
      of: ({ figures: counted }) => (
        <span class={result.startsWith('reject') && (counted[result] ?? 0) > 0 ? 'warn' : ''}>{count(counted[result] ?? 0)}</span>
      ),
    })),
  ];
  return (
    <>
      <h1 class="hidden">Limits</h1>
      <Panel title="Limit zones" note={settings.data && count(zones.length)}>
        {zones.length === 0 ? (
          <Nothing error={settings.error}>There is no limit: limit_req_zone and limit_conn_zone make zones.</Nothing>
        ) : (
          <Table label="Limit zones" rows={zones} columns={columns} id={({ name }) => name} />
        )}
      </Panel>
      <Panel title="Challenges" note={captcha.data && count(captcha.data.length)}>
        {captcha.data === undefined || captcha.data.length === 0 ? (
          <Nothing error={captcha.error}>There is no captcha_zone.</Nothing>
        ) : (
          <Table label="Challenges" rows={captcha.data} columns={columnsOf(captcha.data, 'zone')} id={({ zone }) => String(zone)} />
        )}
      </Panel>
    </>
  );
}
