/** Limits of requests and connections, and challenges: rates, and how many requests met them. */
import { count } from './format.js';
import { live } from './live.js';
import { useRead } from './read.js';
import { Panel } from './shell.js';
import { Nothing, Table, type Column } from './table.js';
import { useValue } from './value.js';

interface LimitSettings {
  readonly limit_rps?: readonly { readonly zone: string; readonly rate: string }[];
}
type Fields = Readonly<Record<string, unknown>>;

interface Zone {
  readonly name: string;
  readonly rate: string;
  readonly figures: Readonly<Record<string, number>>;
}

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

export function Limits() {
  const statistics = useValue(live.statistics);
  const settings = useRead<LimitSettings>('/config/http_dyn_limit', 15_000);
  const captcha = useRead<readonly Fields[]>('/captcha', 3000);
  const rates = new Map((settings.data?.limit_rps ?? []).map(({ zone, rate }) => [zone, rate]));
  const figures = statistics?.limits ?? {};
  const zones: readonly Zone[] = [...new Set([...rates.keys(), ...Object.keys(figures)])]
    .sort()
    .map((name) => ({ name, rate: rates.get(name) ?? '–', figures: figures[name] ?? {} }));
  const results = [...new Set(zones.flatMap(({ figures: counted }) => Object.keys(counted)))];
  const columns: readonly Column<Zone>[] = [
    { title: 'Zone', of: ({ name }) => name },
    { title: 'Rate', of: ({ rate }) => rate },
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
