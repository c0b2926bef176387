/** A change makes new objects of what it concerns and of the blocks around; every other server and location, of `http` and of `stream`, stays the very same object. */
import test from 'ava';
import { Site } from './site.js';

interface Shape {
  readonly servers: number;
  readonly locations: number;
}

/** Texts put in at marked places. */
type Marks = Readonly<Record<string, string>>;

function conf({ servers, locations }: Shape, marks: Marks = {}): string {
  const mark = (name: string, fallback = ''): string => marks[name] ?? fallback;
  const location = (server: number, at: number): string => {
    const own = `${server}.${at}`;
    const inner = `location /l${at}/inner/ { ${mark(`nested ${own}`)} return 200 inner; } location ~ ^/l${at}/x { return 200 x; }`;
    return mark(`location ${own}`, `location /l${at}/ { proxy_pass http://b${at % 2}; ${mark(`in ${own}`)} ${inner} }`);
  };
  const server = (number: number): string => {
    const all = Array.from({ length: locations }, (_, at) => location(number, at)).join('\n');
    const body = `listen 127.0.0.1:8${number % 3}; server_name s${number}.example *.s${number}.example; ${mark(`server ${number}`)}`;
    return mark(`whole ${number}`, `server { ${body} location = /exact { return 200; } ${all} ${mark(`end ${number}`)} }`);
  };
  const all = Array.from({ length: servers }, (_, at) => server(at)).join('\n');
  const upstreams = mark('upstreams', 'upstream b0 { server 127.0.0.1:1; } upstream b1 { server 127.0.0.1:2; }');
  return `events {} http { access_log off; ${mark('http')} ${upstreams} ${all} ${mark('after')} } ${streamConf(mark)}`;
}

/** Each server is one of an address, each second one has names. The upstreams have names of `http` as well. */
function streamConf(mark: (name: string, fallback?: string) => string): string {
  const server = (number: number): string => {
    const listen = `listen 127.0.0.1:9${number >> 1}${number === 5 ? ' udp' : ''};${number % 2 === 1 ? ` server_name s${number}.example;` : ''}`;
    return `server { ${listen} ${mark(`session ${number}`)} ${mark(`content ${number}`, `proxy_pass b${number % 2};`)} }`;
  };
  const all = Array.from({ length: STREAM_SERVERS }, (_, at) => server(at)).join('\n');
  const upstreams = mark('stream upstreams', 'upstream b0 { server 127.0.0.1:1; } upstream b1 { server 127.0.0.1:2; }');
  return `stream { ${mark('stream')} ${upstreams} ${all} ${mark('stream after')} }`;
}

const SHAPE: Shape = { servers: 6, locations: 4 };
const STREAM_SERVERS = 6;
/** `server` blocks of stream that pass to one of the upstreams. */
const STREAM_USERS = STREAM_SERVERS / 2;

/** By what is done: the marks before and after, and how many of the objects that stay are other ones (the blocks around). */
const CHANGES: Readonly<Record<string, { readonly from?: Marks; readonly to: Marks; readonly others: number }>> = {
  'a location is added': { to: { 'end 2': 'location /new/ { return 200; }' }, others: 1 },
  'a location is removed': { from: { 'end 2': 'location /new/ { return 200; }' }, to: {}, others: 1 },
  'a location is replaced': {
    from: { 'end 2': 'location /new/ { return 200; }' },
    to: { 'end 2': 'location /new/ { return 201; }' },
    others: 2,
  },
  'a regular expression is put before another': {
    from: { 'end 2': 'location ~ b { }' },
    to: { 'end 2': 'location ~ a { } location ~ b { }' },
    others: 1,
  },
  'regular expressions change places': {
    from: { 'end 2': 'location ~ a { } location ~ b { }' },
    to: { 'end 2': 'location ~ b { } location ~ a { }' },
    others: 1,
  },
  'a nested location changes': { to: { 'nested 1.2': 'add_header X-A b;' }, others: 3 },
  'a directive comes into a location': { to: { 'in 3.1': 'proxy_read_timeout 7s;' }, others: 4 },
  'an if block comes into a location': { to: { 'in 3.1': 'if ($arg_a) { return 204; }' }, others: 2 },
  'a directive that stays outside comes into a server': { to: { 'server 4': 'return 403;' }, others: 1 },
  'a server with other names is another server': {
    from: { 'server 4': 'server_name other.example;' },
    to: { 'server 4': 'server_name another.example;' },
    others: 0,
  },
  'a directive that is inherited comes into a server': { to: { 'server 4': 'add_header X-A b;' }, others: 1 + 1 + SHAPE.locations * 3 },
  'a server is added': { to: { after: 'server { listen 127.0.0.1:80; server_name new.example; location / { return 200; } }' }, others: 0 },
  'a server is removed': {
    from: { after: 'server { listen 127.0.0.1:80; server_name new.example; location / { return 200; } }' },
    to: {},
    others: 0,
  },
  'an upstream is added': {
    to: { upstreams: 'upstream b0 { server 127.0.0.1:1; } upstream b1 { server 127.0.0.1:2; } upstream b2 { server 127.0.0.1:3; }' },
    others: 0,
  },
  'an upstream has another member': {
    to: { upstreams: 'upstream b0 { server 127.0.0.1:1; } upstream b1 { server 127.0.0.1:2; server 127.0.0.1:3; }' },
    others: 0,
  },
  'a map is added': { to: { http: 'map $arg_a $mapped { default x; }' }, others: 0 },
  'a map changes': { from: { http: 'map $arg_a $mapped { default x; }' }, to: { http: 'map $arg_a $mapped { default y; }' }, others: 0 },
  'a directive that all of http inherits': {
    to: { http: 'add_header X-A b;' },
    others: SHAPE.servers * (1 + 1 + SHAPE.locations * 3),
  },
  'stream: a server is added': { to: { 'stream after': 'server { listen 127.0.0.1:99; return a; }' }, others: 0 },
  'stream: a server with a name is added to an address': {
    to: { 'stream after': 'server { listen 127.0.0.1:90; server_name new.example; return a; }' },
    others: 0,
  },
  'stream: a server is removed': { from: { 'stream after': 'server { listen 127.0.0.1:99; return a; }' }, to: {}, others: 0 },
  'stream: a directive comes into a server': { to: { 'session 2': 'proxy_timeout 7s;' }, others: 1 },
  'stream: a directive leaves a server': { from: { 'session 2': 'proxy_timeout 7s;' }, to: {}, others: 1 },
  'stream: a server has other content': { from: { 'content 3': 'return a;' }, to: { 'content 3': 'return b;' }, others: 1 },
  'stream: a server of datagrams changes': { to: { 'session 5': 'proxy_responses 1;' }, others: 1 },
  'stream: a directive that all servers inherit': { to: { stream: 'proxy_timeout 7s;' }, others: STREAM_SERVERS },
  'stream: an upstream is added': {
    to: {
      'stream upstreams': 'upstream b0 { server 127.0.0.1:1; } upstream b1 { server 127.0.0.1:2; } upstream b2 { server 127.0.0.1:3; }',
    },
    others: 0,
  },
  'stream: an upstream has another member': {
    to: { 'stream upstreams': 'upstream b0 { server 127.0.0.1:1; } upstream b1 { server 127.0.0.1:2; server 127.0.0.1:3; }' },
    others: 0,
  },
  'stream: a member has another weight': {
    to: { 'stream upstreams': 'upstream b0 { server 127.0.0.1:1 weight=2; } upstream b1 { server 127.0.0.1:2; }' },
    others: 0,
  },
  'stream: an upstream has another zone': {
    to: { 'stream upstreams': 'upstream b0 { server 127.0.0.1:1; } upstream b1 { zone z 64k; server 127.0.0.1:2; }' },
    others: STREAM_USERS,
  },
  'stream: a map is added': { to: { stream: 'map $remote_addr $mapped { default x; }' }, others: 0 },
  'stream: a map changes': {
    from: { stream: 'map $remote_addr $mapped { default x; }' },
    to: { stream: 'map $remote_addr $mapped { default y; }' },
    others: 0,
  },
};

for (const [name, { from = {}, to, others }] of Object.entries(CHANGES)) {
  test(name, async (t) => {
    const site = new Site(t);
    await site.become(conf(SHAPE, from));
    const before = site.objects();
    await site.become(conf(SHAPE, to));
    const after = site.objects();
    const changed = [...before].filter(([id, object]) => after.has(id) && after.get(id) !== object);
    t.is(changed.length, others);
  });
}

test('an upstream that goes takes those along that name it', async (t) => {
  const site = new Site(t);
  await site.become(conf(SHAPE));
  const before = site.objects();
  const upstreams = 'upstream b0 { server 127.0.0.1:1; }';
  await t.throwsAsync(site.become(conf(SHAPE, { upstreams })), { message: /host not found in upstream "b1"/ });
  t.deepEqual(
    [...site.objects()].filter(([id, object]) => before.get(id) !== object),
    [],
    'refused: nothing has changed',
  );
  const group = 'upstream b0 { server 127.0.0.1:1; } upstream b1 { zone z 64k; server 127.0.0.1:2; }';
  await site.become(conf(SHAPE, { upstreams: group }));
  const users = SHAPE.servers * (SHAPE.locations / 2);
  const changed = [...site.objects()].filter(([id, object]) => before.get(id) !== object);
  t.is(changed.length, users + SHAPE.servers, 'another upstream of the name: its users, and the servers around them');
});
