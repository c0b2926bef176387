import { randomBytes } from 'node:crypto';
import mqtt from 'mqtt';
import type { Log } from '../contract/log.js';
import { Dialer } from '../net/dialer.js';
import type { BusEndpoint, BusRole } from './bus-endpoint.js';
import { packetsOf } from './frames.js';

const RECONNECT_MS = 200;
/** Bytes, with room for the topic in a packet (`maxPacket` of the endpoint). */
const LONGEST_PAYLOAD = 500 * 1024;

export interface BusListener {
  message(topic: string, payload: Buffer): void;
  /** The subscription is active; again after every loss. */
  connected?(): void;
  lost?(): void;
}

/**
 * One process's connection to the bus: MQTT 3.1.1 over the unix socket, QoS 0, nothing but events kept for later. While the broker is away,
 * messages are rejected rather than queued, and the connection is tried again several times a second.
 */
export class BusClient {
  readonly id: string;
  readonly #role: BusRole;
  readonly #dialer = Dialer.plain();
  #client: mqtt.MqttClient | undefined;
  #listener: BusListener | undefined;
  #ready = false;
  /** Messages of this turn of the event loop, by topic. */
  #unsent = new Map<string, Buffer[]>();
  #sending: NodeJS.Immediate | undefined;

  /** @param role its client id starts with it, and the broker lets it use the topics of that role */
  constructor(
    private readonly endpoint: BusEndpoint,
    role: BusRole,
    private readonly log: Log,
  ) {
    this.#role = role;
    this.id = `${role}-${randomBytes(6).toString('hex')}`;
  }

  /** Connects, and again whenever the connection is lost, until {@link stop}. `topic` is the one subscription of this client. */
  start(topic: string, listener: BusListener): void {
    const client = new mqtt.MqttClient(() => this.#dialer.stream({ path: this.endpoint.socket }), {
      clientId: this.id,
      username: this.#role,
      password: this.endpoint.password(this.#role),
      protocolVersion: 4,
      clean: true,
      keepalive: 10,
      connectTimeout: 2000,
      reconnectPeriod: RECONNECT_MS,
      reconnectOnConnackError: true,
      queueQoSZero: false,
      resubscribe: false,
      timerVariant: 'native',
      // It would make 65,536 buffers at the first packet: 50 ms and 8 MB in each process.
      writeCache: false,
    });
    this.#client = client;
    this.#listener = listener;
    client.on('connect', () => this.#subscribe(client, topic));
    client.on('message', (from, payload) => listener.message(from, payload));
    client.on('close', () => this.#lost());
    // Connection refused or no such socket: the broker is not up yet. `close` follows, and the next attempt.
    client.on('error', (error) => this.log.write('debug', `bus: ${error.message}`));
  }

  async stop(): Promise<void> {
    clearImmediate(this.#sending);
    this.#flush();
    this.#ready = false;
    this.#listener = undefined;
    await this.#client?.endAsync(true);
    this.#client = undefined;
  }

  /**
   * Sends a frame. Those of one turn of the event loop travel together: a packet costs every process on its way more than what is in it.
   * @returns false if there is no connection: nothing was sent and nothing is kept
   */
  send(topic: string, frame: Buffer): boolean {
    if (!this.#ready || this.#client === undefined) return false;
    const frames = this.#unsent.get(topic);
    if (frames === undefined) this.#unsent.set(topic, [frame]);
    else frames.push(frame);
    this.#sending ??= setImmediate(() => this.#flush());
    return true;
  }

  /** Has the broker keep a message for later subscribers; an empty one is the end of it (MQTT 3.1.1, 3.3.1.3). */
  retain(topic: string, payload: string): void {
    if (this.#ready) this.#client?.publish(topic, payload, { retain: true });
  }

  #flush(): void {
    const unsent = this.#unsent;
    this.#unsent = new Map();
    this.#sending = undefined;
    if (!this.#ready) return;
    for (const [topic, frames] of unsent) for (const packet of packetsOf(frames, LONGEST_PAYLOAD)) this.#client?.publish(topic, packet);
  }

  #subscribe(client: mqtt.MqttClient, topic: string): void {
    client.subscribe(topic, { qos: 0 }, (error) => {
      if (error) {
        // A connection that is gone is made again, unless everything is about to end.
        this.log.write(client.connected ? 'error' : 'debug', `bus: cannot subscribe: ${error.message}`);
        return;
      }
      this.#ready = true;
      this.log.write('info', 'bus: connected');
      this.#listener?.connected?.();
    });
  }

  #lost(): void {
    if (!this.#ready) return;
    this.#ready = false;
    this.log.write('warn', 'bus: connection lost');
    this.#listener?.lost?.();
  }
}
