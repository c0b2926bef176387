/** A call of the API below `/api/v1`. */
export interface ChangeCall {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export interface ChangeKind {
  readonly name: string;
  readonly call: (index: number) => ChangeCall;
}

const add = (path: string, body: object): ChangeCall => ({ method: 'POST', path, body });
const change = (path: string, body: object): ChangeCall => ({ method: 'PATCH', path, body });
const remove = (path: string, body: object): ChangeCall => ({ method: 'PUT', path, body: { type: 'del', ...body } });

/**
 * Every kind of change of the API, each the continuation of the one before: what is added is changed, and then removed.
 * @param port that the servers listen on
 * @param run names of one run are not those of another
 * @param place nor are addresses of members: 0 to 127
 */
export function changeKinds(port: number, run: string, place = 0): readonly ChangeKind[] {
  const addr_port = `127.0.0.1:${port}`;
  const members = '/upstream_api/http/upstreams/u0/servers';
  const address = (index: number): string => `127.${128 + place}.${index >> 8}.${index & 255}:${run.length}`;
  const location = (index: number) => ({ addr_port, server_name: 's0.bench', location_rule: '=', location_name: `/${run}${index}` });
  const server = (index: number) => ({ addr_port, server_name: `${run}${index}.bench` });
  const upstream = (index: number) => ({ upstream_name: `${run}${index}` });
  const upstreamBody = (index: number): string => `zone ${run}${index} 32k; keepalive`;
  const placed = (index: number, body: string): object => {
    const { location_rule, location_name, ...place } = location(index);
    return { ...place, locations: [{ location_rule, location_name, location_body: body }] };
  };
  const three = (index: number): readonly ChangeCall[] => [
    add('/v1/dyn_ups', { upstream_name: `${run}t${index}`, upstream_body: `zone ${run}t${index} 32k; server 127.0.0.1:1` }),
    add(`/v1/upstream_api/http/upstreams/${run}t${index}/servers`, { server: '127.0.0.1:2' }),
    remove('/v1/dyn_ups', { upstream_name: `${run}t${index}` }),
  ];
  return [
    { name: 'add member', call: (index) => add(members, { server: address(index) }) },
    { name: 'change member', call: (index) => change(`${members}/${address(index)}`, { weight: 7 }) },
    { name: 'remove member', call: (index) => ({ method: 'DELETE', path: `${members}/${address(index)}` }) },
    { name: 'add upstream', call: (index) => add('/dyn_ups', { ...upstream(index), upstream_body: `${upstreamBody(index)} 4` }) },
    { name: 'change upstream', call: (index) => change(`/dyn_ups/${run}${index}`, { upstream_body: `${upstreamBody(index)} 5` }) },
    { name: 'remove upstream', call: (index) => remove('/dyn_ups', upstream(index)) },
    { name: 'add location', call: (index) => add('/dyn_loc', placed(index, 'return 200 one')) },
    { name: 'change location', call: (index) => change('/dyn_loc', { ...location(index), location_body: 'return 200 two' }) },
    { name: 'remove location', call: (index) => remove('/dyn_loc', location(index)) },
    { name: 'add server', call: (index) => add('/dyn_srv', { ...server(index), server_body: 'return 200 one' }) },
    { name: 'change server', call: (index) => change('/dyn_srv', { ...server(index), server_body: 'return 200 two' }) },
    { name: 'remove server', call: (index) => remove('/dyn_srv', server(index)) },
    { name: 'transaction of three calls', call: (index) => add('/transactions', { calls: three(index) }) },
    {
      name: 'change setting',
      call: (index) => ({ method: 'PUT', path: '/config/http_dyn_header', body: header(addr_port, String(index)) }),
    },
  ];
}

function header(address: string, value: string): object {
  const headers = [{ key: 'X-Bench', value, always: true }];
  return { servers: [{ listens: [address], serverNames: ['s0.bench'], locations: [{ location: '/l0/', headers }] }] };
}
