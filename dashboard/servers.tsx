/** Servers and locations: figures, and what is configured. */
import { useState } from 'preact/hooks';
import { mayChange } from './access.js';
import { addLocation, addServer, editLocation, editServer, LOCATION_KEY, serverKey } from './block.js';
import { bytes, count, ms, rate } from './format.js';
import { live } from './live.js';
import { useRead } from './read.js';
import { Missing, Panel } from './shell.js';
import { Nothing, Table, type Column } from './table.js';
import type { Location, Row, Statistics, VirtualServer } from './types.js';
import { useValue } from './value.js';

/** Rows that are shown at first. */
const SHOWN = 200;
type Named = readonly [name: string, row: Row];

const FIGURES: readonly Column<Named>[] = [
  { title: 'Name', of: ([name]) => name },
  { title: 'Requests/s', isNumber: true, of: ([, { rates }]) => rate(rates.requests['10s']) },
  {
    title: '5xx/s',
    isNumber: true,
    of: ([, { rates }]) => <span class={rates.errors['10s'] > 0 ? 'bad' : ''}>{rate(rates.errors['10s'])}</span>,
  },
  { title: 'Requests', isNumber: true, of: ([, { requests }]) => count(requests) },
  { title: '4xx', isNumber: true, of: ([, { responses }]) => count(responses['4xx']) },
  { title: '5xx', isNumber: true, of: ([, { responses }]) => count(responses['5xx']) },
  { title: 'Active', isNumber: true, of: ([, { active }]) => count(active) },
  { title: 'p50', isNumber: true, of: ([, { times }]) => ms(times.count > 0 ? times.p50 : undefined) },
  { title: 'p90', isNumber: true, of: ([, { times }]) => ms(times.count > 0 ? times.p90 : undefined) },
  { title: 'p99', isNumber: true, of: ([, { times }]) => ms(times.count > 0 ? times.p99 : undefined) },
  { title: 'Sent', isNumber: true, of: ([, { sent }]) => bytes(sent) },
];
const SERVERS: readonly Column<VirtualServer>[] = [
  { title: 'Names', of: ({ server_name: names }) => (names === '' ? <span class="muted">no name</span> : names) },
  { title: 'Listens', of: ({ listens, engine }) => `${listens.join(', ')}${engine === 'stream' ? ' (stream)' : ''}` },
  { title: 'From', of: ({ is_static: isStatic }) => (isStatic ? 'file' : 'API') },
  { title: 'Configuration', of: ({ server_body: body }) => <Body text={body} /> },
  { title: 'Change', of: (server) => <ServerButtons server={server} /> },
];
const LOCATIONS: readonly Column<Location>[] = [
  { title: 'Location', of: ({ location_rule: rule, location_name: name }) => <code>{`${rule} ${name}`.trim()}</code> },
  { title: 'Server', of: ({ server_name: names, addr_port: address }) => (names === '' ? address : names) },
  { title: 'Passes to', of: ({ proxy_pass: pass }) => pass ?? '–' },
  { title: 'From', of: ({ is_static: isStatic }) => (isStatic ? 'file' : 'API') },
  { title: 'Configuration', of: ({ location_body: body }) => <Body text={body} /> },
  {
    title: 'Change',
    of: (location) =>
      mayChange(LOCATION_KEY) && (
        <button
          type="button"
          class="small quiet"
          aria-label={`Edit location ${location.location_name} of ${location.server_name}`}
          onClick={() => editLocation(location)}
        >
          Edit …
        </button>
      ),
  },
];

function ServerButtons({ server }: { readonly server: VirtualServer }) {
  const name = server.server_name === '' ? server.listens.join(' ') : server.server_name;
  return (
    <>
      {mayChange(serverKey(server.engine)) && (
        <button type="button" class="small quiet" aria-label={`Edit server ${name}`} onClick={() => editServer(server)}>
          Edit …
        </button>
      )}
      {server.engine === 'http' && mayChange(LOCATION_KEY) && (
        <button type="button" class="small quiet" aria-label={`Add a location to ${name}`} onClick={() => addLocation(server)}>
          Add a location …
        </button>
      )}
    </>
  );
}

function Body({ text }: { readonly text: string }) {
  const lines = text.trim().split('\n').length;
  if (text.trim() === '') return <span class="muted">–</span>;
  return (
    <details>
      <summary>{lines === 1 ? '1 line' : `${lines} lines`}</summary>
      <pre>{text}</pre>
    </details>
  );
}

const byTraffic = ([, one]: Named, [, other]: Named): number =>
  other.rates.requests['1m'] - one.rates.requests['1m'] || other.requests - one.requests;

export function Servers() {
  const statistics = useValue(live.statistics);
  const locations = useRead<Statistics>('/vts?group=locations', 2000);
  const rows = Object.entries(statistics?.servers ?? {}).sort(byTraffic);
  const places = Object.entries(locations.data?.locations ?? {}).sort(byTraffic);
  return (
    <>
      <h1 class="hidden">Servers and locations</h1>
      <Panel title="Servers" note={statistics && count(rows.length)}>
        {statistics === undefined ? (
          <Missing part="statistics" />
        ) : rows.length === 0 ? (
          <p class="empty">No server is counted: set vhost_traffic_status_zone in http.</p>
        ) : (
          <Table label="Servers" rows={rows.slice(0, SHOWN)} columns={FIGURES} id={([name]) => name} />
        )}
      </Panel>
      <Panel title="Locations" note={locations.data && count(places.length)}>
        {places.length === 0 ? (
          <Nothing error={locations.error}>No location is counted: those with a status_zone are.</Nothing>
        ) : (
          <Table label="Locations" rows={places.slice(0, SHOWN)} columns={FIGURES} id={([name]) => name} />
        )}
      </Panel>
      <Configured />
    </>
  );
}

function Configured() {
  const [text, setText] = useState('');
  const http = useRead<readonly Omit<VirtualServer, 'engine'>[]>('/dyn_srv', 30_000);
  const stream = useRead<readonly Omit<VirtualServer, 'engine'>[]>('/stream_srv', 30_000);
  const locations = useRead<readonly Location[]>('/dyn_loc', 30_000);
  const servers: readonly VirtualServer[] = [
    ...(http.data ?? []).map((server) => ({ ...server, engine: 'http' as const })),
    ...(stream.data ?? []).map((server) => ({ ...server, engine: 'stream' as const })),
  ];
  const wanted = text.toLowerCase();
  const shown = servers.filter((server) => `${server.server_name} ${server.listens.join(' ')}`.toLowerCase().includes(wanted));
  const places = (locations.data ?? []).filter((entry) =>
    `${entry.server_name} ${entry.location_name} ${entry.addr_port}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <Panel
        title="Configured servers"
        note={http.data && count(shown.length)}
        actions={
          <>
            <label class="field">
              <span class="hidden">Filter servers and locations</span>
              <input
                type="search"
                placeholder="Name, address or path"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </label>
            {mayChange(serverKey('http')) && (
              <button type="button" class="small" onClick={addServer}>
                Add a server …
              </button>
            )}
          </>
        }
      >
        {shown.length === 0 ? (
          <Nothing error={http.error}>No server.</Nothing>
        ) : (
          <Table
            label="Configured servers"
            rows={shown.slice(0, SHOWN)}
            columns={SERVERS}
            id={({ engine, listens, server_name: names }) => JSON.stringify([engine, listens, names])}
          />
        )}
      </Panel>
      <Panel title="Configured locations" note={locations.data && count(places.length)}>
        {places.length === 0 ? (
          <Nothing error={locations.error}>No location.</Nothing>
        ) : (
          <Table
            label="Configured locations"
            rows={places.slice(0, SHOWN)}
            columns={LOCATIONS}
            id={(entry) => JSON.stringify([entry.addr_port, entry.server_name, entry.location_rule, entry.location_name])}
          />
        )}
      </Panel>
    </>
  );
}
