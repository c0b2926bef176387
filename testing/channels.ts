/** Channels for unit tests: the halves of one module in one thread, with data that is cloned as between threads. */
import type { Channels } from '../core/contract/channels.js';
import { MasterChannels, WorkerChannels, type ChannelHub } from '../core/kernel/channel-hub.js';
import { ModuleChannels } from '../core/kernel/module-channels.js';

const MODULE = 'module under test';

/** The halves of a module. The calling method throws exceptions of a callback. */
export class FakeChannels {
  readonly #workers: WorkerChannels[] = [];
  readonly #hub = new MasterChannels(async (_, data) => {
    for (const worker of this.#workers) worker.take(structuredClone(data));
  });
  /** For the half in the main thread. */
  readonly master: Channels = halfOf(this.#hub);

  /** For the half in one more worker, which is started now. */
  worker(): Channels {
    const number = this.#workers.length;
    const hub = new WorkerChannels((message) => this.#hub.take(structuredClone(message), number));
    hub.load(structuredClone(this.#hub.snapshot()));
    this.#workers.push(hub);
    return halfOf(hub);
  }
}

function fail(_: unknown, text: string): never {
  throw new Error(text);
}

function halfOf(hub: ChannelHub): Channels {
  const half = new ModuleChannels(MODULE, hub, { write: fail, enabled: () => true }, (call) => call());
  half.begin();
  return half;
}
