import { text } from '../../core/contract/args.js';
import { Events } from '../../core/contract/events.js';
import { Log } from '../../core/contract/log.js';
import { coreModule, type MainScope } from '../../core/contract/manifest.js';
import { Redis, type RedisConnection, type RedisStatus } from '../../core/contract/redis.js';
import type { Resource } from '../../core/contract/resource.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { ArgError, directive } from '../../core/contract/spec.js';
import { BlockConnection } from './redis-connection.js';
import { blockDirectives, placeOf, redisSettings, type RedisSettings } from './redis-settings.js';

const directives = {
  redis: directive({
    in: ['main'],
    args: { name: text('name') },
    many: true,
    block: { context: 'redis', directives: blockDirectives },
    identity: ({ args }) => args[0]?.text ?? '',
    doc: 'Connections to Redis, under a name that other directives use. The main thread has them; requests never wait for Redis.',
  }),
};

type Blocks = ReadonlyMap<string, RedisSettings>;

/** Connections of the main thread to Redis, for the features that share state between nodes. */
@coreModule({ name: 'srv_redis_module', api: 1, plane: 'data', directives, provides: [Redis] })
export class RedisModule extends Redis {
  readonly #connections = new Map<string, BlockConnection>();
  #blocks: Blocks = new Map();
  #isStarted = false;

  constructor(
    private readonly info: ServerInfo,
    private readonly log: Log,
    private readonly events: Events,
  ) {
    super();
  }

  connection(name: string): RedisConnection {
    return this.#connection(name);
  }

  /** Files are read again with each reload; a connection whose settings are the same stays. */
  compileMain(scope: MainScope<typeof directives>): Resource | undefined {
    if (this.info.role !== 'master') return undefined;
    const blocks = new Map<string, RedisSettings>();
    const lines = scope.lines('redis');
    scope.each(scope.conf.redis.entries(), ([at, { name, block }]) => {
      if (blocks.has(name)) scope.fail(`duplicate redis "${name}"`, lines[at]);
      try {
        blocks.set(name, redisSettings(block));
      } catch (error) {
        if (!(error instanceof ArgError)) throw error;
        scope.fail(`redis "${name}": ${error.message}`, lines[at], error.hint);
      }
    });
    return { commit: () => this.#apply(blocks) };
  }

  start(role: ServerInfo['role']): void {
    if (role !== 'master') return;
    this.#isStarted = true;
    const blocks = this.#blocks;
    this.#blocks = new Map();
    this.#apply(blocks);
  }

  stop(): void {
    this.#isStarted = false;
    for (const connection of this.#connections.values()) connection.close('srv is ending');
    this.#connections.clear();
  }

  #apply(blocks: Blocks): void {
    const before = this.#blocks;
    this.#blocks = blocks;
    if (!this.#isStarted) return;
    for (const [name, settings] of blocks) {
      if (JSON.stringify(settings) !== JSON.stringify(before.get(name))) this.#connection(name).open(settings, this.info.clusterName);
    }
    for (const name of before.keys()) if (!blocks.has(name)) this.#connection(name).close(`there is no block redis "${name}" any more`);
  }

  #connection(name: string): BlockConnection {
    const known = this.#connections.get(name);
    if (known !== undefined) return known;
    const connection = new BlockConnection(name);
    connection.watch((status) => this.#changed(name, status));
    this.#connections.set(name, connection);
    return connection;
  }

  #changed(name: string, { state, reason }: RedisStatus): void {
    const settings = this.#blocks.get(name);
    const isOver = !this.#isStarted || settings === undefined;
    if (isOver) return;
    if (state === 'ready') this.log.write('notice', `redis "${name}": connected (${placeOf(settings)})`);
    else this.log.write('error', `redis "${name}" is away: ${reason}`);
    this.events.publish(`redis.${state}`, { name, ...(reason !== undefined && { reason }) }, [name]);
  }
}
