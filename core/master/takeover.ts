import type { Log } from '../contract/log.js';
import type { ControlListener } from '../net/control-listeners.js';
import type { StatePart } from '../upgrade/messages.js';
import type { Predecessor } from '../upgrade/predecessor.js';
import { StateTaker } from '../upgrade/state-parts.js';
import type { CarriedState } from '../zone/carried-state.js';
import { InheritedSockets } from './inherited-sockets.js';

export interface TakeoverOptions {
  readonly log: Log;
  readonly carried: () => readonly CarriedState[];
  /** Gives up what connections of the server before hold. */
  readonly drop: () => void;
}

/** Takes the place of the server that this one replaces. */
export class Takeover {
  readonly sockets: InheritedSockets;
  /** Where the control plane listens, until its processes say so themselves. */
  control: readonly ControlListener[];
  #taker: StateTaker | undefined;
  #parts: readonly StatePart[] = [];

  constructor(
    private readonly predecessor: Predecessor,
    private readonly options: TakeoverOptions,
  ) {
    this.sockets = new InheritedSockets(predecessor.sockets);
    this.control = predecessor.control;
  }

  /** Everything is checked: gets the data folder, and the state. @throws Error when the server before is gone */
  async begin(): Promise<void> {
    const { predecessor, options } = this;
    const taker = (this.#taker = new StateTaker(options.carried(), options.log));
    this.#parts = await predecessor.takeOver();
    taker.expect(this.#parts);
    predecessor.onState = (changes) => taker.take(changes);
    void predecessor.ended.then(options.drop);
  }

  /** The configuration is active. */
  takeState(): void {
    this.#taker?.take(this.#parts);
    this.#parts = [];
  }

  /** Later changes of the state. */
  async catchUp(): Promise<void> {
    this.#taker?.take(await this.predecessor.update());
  }

  /** This server serves. Resolves when the helpers of the one before have ended. */
  async serving(): Promise<void> {
    this.sockets.closeRest();
    await this.predecessor.serving();
  }
}
