/** Fields of the published description of NGINX Plus's API, version 9, by path. Objects within them have lists of their own. */

const RESPONSES = { responses: ['1xx', '2xx', '3xx', '4xx', '5xx', 'codes', 'total'] };
const READ = ['responses', 'bytes'];
const WRITTEN = [...READ, 'responses_written', 'bytes_written'];
const HEALTH = { health_checks: ['checks', 'fails', 'unhealthy'] };
const PEER = 'id server name backup weight state active max_conns sent received fails unavail downtime selected response_time'.split(' ');
const ZONE = ['requests', 'discarded', 'received', 'sent'];

type Fields = readonly (string | Readonly<Record<string, Fields>>)[];

export const FIELDS: Readonly<Record<string, Fields>> = {
  nginx: ['version', 'build', 'address', 'generation', 'load_timestamp', 'timestamp', 'pid', 'ppid'],
  processes: ['respawned'],
  connections: ['accepted', 'dropped', 'active', 'idle'],
  ssl: 'handshakes handshakes_failed session_reuses no_common_protocol no_common_cipher handshake_timeout peer_rejected_cert'.split(' '),
  'slabs/demo': [{ pages: ['used', 'free'] }, 'slots'],
  'workers/0': ['id', 'pid', { connections: ['accepted', 'dropped', 'active', 'idle'] }, { http: [{ requests: ['total', 'current'] }] }],
  'resolvers/dns': [
    { requests: ['name', 'srv', 'addr'] },
    { responses: ['noerror', 'formerr', 'servfail', 'nxdomain', 'notimp', 'refused', 'timedout', 'unknown'] },
  ],
  'http/requests': ['total', 'current'],
  'http/server_zones/web': [...ZONE, 'processing', RESPONSES],
  'http/location_zones/hello': [...ZONE, RESPONSES],
  'http/caches/kept': [
    'size',
    'max_size',
    'cold',
    { hit: READ, stale: READ, updating: READ, revalidated: READ, miss: WRITTEN, expired: WRITTEN, bypass: WRITTEN },
  ],
  'http/limit_reqs/rate': ['passed', 'delayed', 'rejected', 'delayed_dry_run', 'rejected_dry_run'],
  'http/limit_conns/conns': ['passed', 'rejected', 'rejected_dry_run'],
  'http/upstreams/updated': ['keepalive', 'zombies', 'zone', { peers: [{ 0: [...PEER, 'requests', 'header_time', RESPONSES, HEALTH] }] }],
  'stream/server_zones/said': ['processing', 'connections', { sessions: ['2xx', '4xx', '5xx', 'total'] }, 'discarded', 'received', 'sent'],
  'stream/limit_conns/sessions': ['passed', 'rejected', 'rejected_dry_run'],
  'stream/upstreams/db': ['zombies', 'zone', { peers: [{ 1: [...PEER, 'connections', 'connect_time', 'first_byte_time', HEALTH] }] }],
};

/** Fields that a value does not have, with their places. */
export function missingFields(value: unknown, fields: Fields, place: string): readonly string[] {
  const has = (name: string): boolean => typeof value === 'object' && value !== null && name in value;
  return fields.flatMap((field): readonly string[] => {
    if (typeof field === 'string') return has(field) ? [] : [`${place}/${field}`];
    return Object.entries(field).flatMap(([name, inner]) =>
      has(name) ? missingFields((value as Readonly<Record<string, unknown>>)[name], inner, `${place}/${name}`) : [`${place}/${name}`],
    );
  });
}
