import type { Aedes, Client } from 'aedes';
import { helperModule, type Lifecycle } from '../../core/contract/manifest.js';
import { BusAccess, type BusListening } from '../../core/contract/bus-access.js';
import { Log } from '../../core/contract/log.js';
import { PacketLimit } from './packet-limit.js';

/** Limit of unread bytes of a reader of events. */
const MAX_UNSENT = 1024 ** 2;

/**
 * `helper broker modules/srv_helper_broker_module.so conf/broker.conf;`: the MQTT broker on which the processes of this node meet.
 * It listens on a unix socket that only this user can open, and lets in who has the credentials of this start of the server: aedes by itself
 * lets in everybody.
 */
@helperModule({ name: 'srv_helper_broker_module', api: 1, helper: 'broker' })
export class Broker implements Lifecycle {
  #broker: Aedes | undefined;
  #listening: BusListening | undefined;

  constructor(
    private readonly access: BusAccess,
    private readonly log: Log,
  ) {}

  async start(): Promise<void> {
    // Loaded here: the main thread loads this file as well, to check the line of the helper.
    const [{ Aedes: Program }, { writeToStream }] = await Promise.all([import('aedes'), import('mqtt-packet')]);
    // The cache would be 65,536 buffers, made for the first client: 50 ms and 8 MB.
    writeToStream.cacheNumbers = false;
    const broker = await Program.createBroker({ drainTimeout: 10_000, connectTimeout: 2000, queueLimit: 64 });
    this.#broker = broker;
    this.#restrict(broker);
    broker.on('clientError', (client, error) => this.log.write('warn', `broker: client ${client.id}: ${error.message}`));
    broker.on('connectionError', (_, error) => this.log.write('info', `broker: refused a connection: ${error.message}`));
    this.#listening = await this.access.listen((connection) => broker.handle(new PacketLimit(connection, this.access.maxPacket)));
  }

  async stop(): Promise<void> {
    const [broker, listening] = [this.#broker, this.#listening];
    this.#broker = this.#listening = undefined;
    listening?.close();
    if (broker) await new Promise<void>((resolve) => broker.close(resolve));
  }

  #restrict(broker: Aedes): void {
    broker.authenticate = (client, user, password, done) => {
      const allowed = this.access.authenticate(client.id, user, password);
      // aedes waits for the slowest of its clients, and calls of the API would wait with it.
      if (allowed && this.access.isReader(client.id) && client.conn instanceof PacketLimit) client.conn.limitUnsent(MAX_UNSENT);
      done(null, allowed);
    };
    broker.authorizePublish = (client, packet, done) => {
      // Of calls nothing is kept for later: a retained message would reach processes of another time.
      const mayPublish = (id: string): boolean =>
        packet.retain ? this.access.mayRetain(id, packet.topic) : this.access.mayPublish(id, packet.topic);
      const allowed = client !== null && packet.qos === 0 && mayPublish(client.id);
      done(allowed ? null : refusal(client, `publish to ${packet.topic}`));
    };
    broker.authorizeSubscribe = (client, subscription, done) => {
      if (this.access.maySubscribe(client.id, subscription.topic)) done(null, subscription);
      else done(refusal(client, `subscribe to ${subscription.topic}`));
    };
  }
}

function refusal(client: Client | null, what: string): Error {
  return new Error(`${client?.id ?? 'a client'} may not ${what}`);
}
