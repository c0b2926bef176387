import { existsSync, readFileSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import mqtt from 'mqtt';
import { ActionServer } from '../../core/api/action-server.js';
import { createBusEndpoint, readBusEndpoint, type BusEndpoint } from '../../core/api/bus-endpoint.js';
import { BusClient } from '../../core/api/bus.js';
import { BusDataPlane } from '../../core/api/data-plane.js';
import { action, ApiError, type ActionContext } from '../../core/contract/control.js';
import { Broker } from '../../modules/broker/srv_helper_broker_module.js';
import { waitFor } from '../harness/wait.js';
import { tempFolder } from '../harness/temp.js';
import { MemoryLog } from './memory-log.js';

const CONTEXT: ActionContext = { dryRun: false, ifMatch: undefined, requestId: 'r1' };

class Shop {
  release: (() => void) | undefined;

  @action('shop.echo')
  echo(params: never, context: ActionContext): unknown {
    return { params, requestId: context.requestId };
  }

  @action('shop.slow')
  async slow(_: never, { extendDeadline }: ActionContext): Promise<string> {
    extendDeadline?.(10_000);
    await sleep(5500);
    return 'done';
  }

  @action('shop.refuse')
  refuse(): never {
    throw new ApiError(409, 'EntryExists', 'it is there', [{ id: 3 }]);
  }

  @action('shop.break')
  break(): never {
    throw new TypeError('secret /etc/path');
  }

  @action('shop.circle')
  circle(): unknown {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    return circle;
  }

  @action('shop.big')
  big(): unknown {
    return { big: 10n };
  }

  @action('shop.never')
  never(): Promise<never> {
    return new Promise(() => {});
  }
}

async function broker(t: ExecutionContext, endpoint: BusEndpoint, log = new MemoryLog()): Promise<Broker> {
  const started = new Broker(endpoint, log);
  await started.start();
  t.teardown(() => started.stop());
  return started;
}

/** A whole bus: broker, a master with the shop's actions, a control process. */
async function bus(t: ExecutionContext, limit = 30_000) {
  const endpoint = createBusEndpoint(tempFolder(t));
  const log = new MemoryLog();
  const running = await broker(t, endpoint, log);
  const server = new ActionServer(new BusClient(endpoint, 'master', log), log, () => Promise.reject(new Error('no transactions here')));
  server.serve([{ name: 'shop', instance: new Shop() }]);
  server.start();
  const plane = new BusDataPlane(new BusClient(readBusEndpoint(endpoint.file), 'ctrl', log), log, limit);
  plane.start();
  t.teardown(() => Promise.all([plane.stop(), server.stop()]));
  return { endpoint, log, running, server, plane };
}

test('a call reaches the action of the data plane and its response comes back', async (t) => {
  const { plane } = await bus(t);
  t.deepEqual(await plane.call('shop.echo', { a: 'ä', n: 1 }, CONTEXT), { params: { a: 'ä', n: 1 }, requestId: 'r1' });
});

test('many calls at once each get their own response, also those longer than a packet', async (t) => {
  const { plane } = await bus(t);
  const calls = Array.from({ length: 20 }, (_, n) => ({ n, text: 'x'.repeat(n * 30_000) }));
  const answers = await Promise.all(calls.map((params) => plane.call<{ params: typeof params }>('shop.echo', params, CONTEXT)));
  t.deepEqual(
    answers.map((answer) => [answer.params.n, answer.params.text.length]),
    calls.map(({ n, text }) => [n, text.length]),
  );
});

test('an ApiError of the action reaches the caller whole; any other error is hidden and logged with the request id', async (t) => {
  const { plane, log } = await bus(t);
  const refused = await t.throwsAsync(plane.call('shop.refuse', {}, CONTEXT), { instanceOf: ApiError });
  t.like(refused, { status: 409, code: 'EntryExists', message: 'it is there', details: [{ id: 3 }] });
  const broken = await t.throwsAsync(plane.call('shop.break', {}, CONTEXT), { instanceOf: ApiError });
  t.like(broken, { status: 500, code: 'InternalError' });
  t.notRegex(broken.message, /secret/);
  t.true(log.lines.some((line) => line.includes('secret') && line.includes('request_id: r1')));
});

for (const name of ['shop.circle', 'shop.big']) {
  test(`an action that returns what JSON cannot carry is a 500 at once: ${name}`, async (t) => {
    const { plane, log } = await bus(t);
    t.like(await t.throwsAsync(plane.call(name, {}, CONTEXT)), { status: 500, code: 'InternalError' });
    t.true(log.lines.some((line) => line.includes(`action ${name} returned what JSON cannot carry, request_id: r1`)));
  });
}

test('an action that no loaded module serves is a 501 that names it', async (t) => {
  const { plane } = await bus(t);
  const error = await t.throwsAsync(plane.call('nothing.here', {}, CONTEXT), { message: /nothing\.here/ });
  t.like(error, { status: 501, code: 'NotLoaded' });
});

test('silence of the data plane is a 503 when the time is over', async (t) => {
  const { plane } = await bus(t, 300);
  const started = Date.now();
  t.like(await t.throwsAsync(plane.call('shop.never', {}, CONTEXT)), { status: 503, code: 'DataPlaneUnavailable' });
  t.true(Date.now() - started < 5000, 'long before the usual limit of the tests');
});

test('an action that says that it takes longer is waited for', async (t) => {
  // The first call connects, and the extension has to come within the limit: both are slow on a busy machine.
  const { plane } = await bus(t, 5000);
  await plane.call('shop.echo', {}, CONTEXT);
  t.is(await plane.call('shop.slow', {}, CONTEXT), 'done');
});

test('without a broker a call is a 503 in time and is not kept for later', async (t) => {
  const endpoint = createBusEndpoint(tempFolder(t));
  const plane = new BusDataPlane(new BusClient(endpoint, 'ctrl', new MemoryLog()), new MemoryLog(), 200);
  plane.start();
  t.teardown(() => plane.stop());
  t.like(await t.throwsAsync(plane.call('shop.echo', {}, CONTEXT)), { status: 503, code: 'DataPlaneUnavailable' });
});

test('when the broker dies calls under way fail at once, and calls work again soon after it was replaced', async (t) => {
  const { plane, running, endpoint } = await bus(t);
  await plane.call('shop.echo', {}, CONTEXT);
  const underWay = t.throwsAsync(plane.call('shop.never', {}, CONTEXT), { message: /was disconnected/ });
  await running.stop();
  t.like(await underWay, { status: 503, code: 'DataPlaneUnavailable' });
  await broker(t, endpoint);
  t.deepEqual(await plane.call('shop.echo', 1, CONTEXT), { params: 1, requestId: 'r1' });
});

test('socket and credentials are readable by their owner only, and every start makes new ones', async (t) => {
  const folder = tempFolder(t);
  const first = createBusEndpoint(folder);
  await broker(t, first);
  t.is(statSync(first.socket).mode & 0o777, 0o600);
  t.is(statSync(first.file).mode & 0o777, 0o600);
  const before = readFileSync(first.file, 'utf8');
  createBusEndpoint(folder);
  t.not(readFileSync(first.file, 'utf8'), before);
});

test('a broker that ends late leaves the socket of the next one alone', async (t) => {
  const endpoint = createBusEndpoint(tempFolder(t));
  const late = await broker(t, endpoint);
  await broker(t, endpoint);
  await late.stop();
  t.true(existsSync(endpoint.socket));
});

test('a folder with a long path gets its socket in a private temporary folder', async (t) => {
  const folder = join(tempFolder(t, { [`${'d'.repeat(60)}/${'e'.repeat(60)}/keep`]: '' }), 'd'.repeat(60), 'e'.repeat(60));
  const endpoint = createBusEndpoint(folder);
  t.true(Buffer.byteLength(endpoint.socket) <= 107);
  await broker(t, endpoint);
  t.is(statSync(endpoint.socket).mode & 0o777, 0o600);
  endpoint.remove();
  t.throws(() => statSync(endpoint.socket));
});

/** What becomes of a client that connects with these options. */
function attempt(t: ExecutionContext, endpoint: BusEndpoint, options: mqtt.IClientOptions): Promise<mqtt.MqttClient> {
  const client = new mqtt.MqttClient(() => connect(endpoint.socket), { protocolVersion: 4, reconnectPeriod: 0, ...options });
  t.teardown(() => client.endAsync(true));
  return new Promise((resolve, reject) => {
    client.on('connect', () => resolve(client));
    client.on('error', reject);
    client.on('close', () => reject(new Error('closed')));
  });
}

test('nobody gets in without the credentials of this start', async (t) => {
  const endpoint = createBusEndpoint(tempFolder(t));
  await broker(t, endpoint);
  const password = endpoint.password('ctrl');
  await t.throwsAsync(attempt(t, endpoint, { clientId: 'ctrl-1' }));
  await t.throwsAsync(attempt(t, endpoint, { clientId: 'ctrl-2', username: 'ctrl', password: 'wrong' }));
  await t.throwsAsync(attempt(t, endpoint, { clientId: 'master-3', username: 'ctrl', password }));
  await t.throwsAsync(attempt(t, endpoint, { clientId: 'master-4', username: 'master', password }));
  await t.notThrowsAsync(attempt(t, endpoint, { clientId: 'ctrl-5', username: 'ctrl', password }));
});

test('a role can use the topics of its part and no other', async (t) => {
  const endpoint = createBusEndpoint(tempFolder(t));
  await broker(t, endpoint);
  const login = { username: 'ctrl', password: endpoint.password('ctrl') };
  for (const topic of ['#', 'srv/call/+', 'srv/answer/ctrl-other', '$SYS/#']) {
    const client = await attempt(t, endpoint, { ...login, clientId: 'ctrl-a' });
    await t.throwsAsync(client.subscribeAsync(topic), undefined, topic);
  }
  for (const topic of ['srv/answer/ctrl-b', 'srv/call/ctrl-other']) {
    const client = await attempt(t, endpoint, { ...login, clientId: 'ctrl-b' });
    const closed = new Promise<void>((resolve) => client.on('close', () => resolve()));
    client.publish(topic, 'x');
    await t.notThrowsAsync(closed);
  }
});

test('programs of others read events with credentials that stay, and nothing else', async (t) => {
  const folder = tempFolder(t);
  createBusEndpoint(folder).remove();
  const endpoint = createBusEndpoint(folder);
  await broker(t, endpoint);
  const options = readFileSync(join(folder, 'events/mosquitto_sub'), 'utf8');
  createBusEndpoint(folder);
  t.is(readFileSync(join(folder, 'events/mosquitto_sub'), 'utf8'), options);
  const [, password = ''] = /^-P (.*)$/m.exec(options) ?? [];
  const login = { username: 'events', password };
  await t.throwsAsync(attempt(t, endpoint, { ...login, clientId: 'ctrl-1' }));
  await t.throwsAsync(attempt(t, endpoint, { ...login, clientId: 'master-1' }));
  await t.throwsAsync(attempt(t, endpoint, { clientId: 'x', username: 'events', password: 'wrong' }));
  await t.throwsAsync(attempt(t, endpoint, { clientId: 'x', username: 'events', password: endpoint.password('ctrl') }));
  const client = await attempt(t, endpoint, { ...login, clientId: 'dashboard' });
  t.is((await client.subscribeAsync('srv/events/#'))[0]?.qos, 0);
});

function mqttText(value: string): Buffer {
  return Buffer.concat([Buffer.from([0, value.length]), Buffer.from(value)]);
}

/** A packet of MQTT that is shorter than 128 bytes. */
function mqttPacket(type: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([type, body.length]), body]);
}

test('a reader of events that does not read is cut off, and nobody waits for it', async (t) => {
  const { endpoint, plane, log } = await bus(t);
  const folder = join(endpoint.file, '..');
  const [, password = ''] = /^-P (.*)$/m.exec(readFileSync(join(folder, 'events/mosquitto_sub'), 'utf8')) ?? [];
  const master = new BusClient(endpoint, 'master', log);
  await new Promise<void>((resolve) => master.start('srv/call/+', { message: () => undefined, connected: resolve }));
  t.teardown(() => master.stop());
  const frozen = connect(endpoint.socket);
  t.teardown(() => frozen.destroy());
  const closed = new Promise<void>((resolve) => frozen.on('close', () => resolve()));
  frozen.write(
    mqttPacket(0x10, mqttText('MQTT'), Buffer.from([4, 0xc2, 0, 0]), mqttText('frozen'), mqttText('events'), mqttText(password)),
  );
  frozen.write(mqttPacket(0x82, Buffer.from([0, 1]), mqttText('srv/events/#'), Buffer.from([0])));
  await once(frozen, 'readable');
  for (let n = 0; n < 400; n++) {
    master.retain(`srv/events/test.event/${n}`, 'x'.repeat(10_000));
    if (n % 50 === 0) t.deepEqual(await plane.call('shop.echo', n, CONTEXT), { params: n, requestId: 'r1' });
  }
  await waitFor('the end of the reader', () => log.lines.some((line) => /frozen: it is too slow/.test(line)));
  frozen.resume();
  await t.notThrowsAsync(closed);
});

test('a packet longer than the limit ends the connection before it is read', async (t) => {
  const endpoint = createBusEndpoint(tempFolder(t));
  await broker(t, endpoint);
  const client = await attempt(t, endpoint, { clientId: 'ctrl-c', username: 'ctrl', password: endpoint.password('ctrl') });
  const closed = new Promise<void>((resolve) => client.on('close', () => resolve()));
  client.publish('srv/call/ctrl-c', Buffer.alloc(endpoint.maxPacket + 1));
  await t.notThrowsAsync(closed);
});
