import { actionsOf, transactionalActionsOf, ApiError, type ActionContext, type AppliedChange } from '../contract/control.js';
import type { Log } from '../contract/log.js';
import { REPLY_TOPIC, CALL_TOPIC } from './bus-endpoint.js';
import type { BusClient } from './bus.js';
import { Assembler, MessageTooLong, split, type Message } from './frames.js';
import type { ClusterOutcome } from '../contract/cluster.js';
import {
  CALL_LIMIT,
  decode,
  encode,
  HELLO,
  toMessage,
  TRANSACTION,
  type CallMessage,
  type ReplyMessage,
  type ReturnMessage,
  type TransactionParams,
  type TransactionReply,
} from './rpc-messages.js';
import { notTransactional } from '../changes/staging.js';
import type { CallOutcome, StagedCall, Together } from '../changes/staged-calls.js';
import { errorOf, stackOf } from '../contract/thrown.js';

/** Implementation of a call by name. */
export type Action = (params: unknown, context: ActionContext) => unknown;

/** Carries out several calls as one change. */
export type Transact = (calls: readonly StagedCall[], context: ActionContext) => Promise<Together>;

/** Says which nodes have a change. */
export interface ChangeOutcomes {
  /** False: this node is alone. */
  readonly isShared: boolean;
  outcome(version: number, ms: number): Promise<ClusterOutcome | undefined>;
}

/** A module whose actions are callable. */
export interface ActionModule {
  readonly name: string;
  readonly instance: object;
  /** Actions that belong to no method of the object: those of its settings. */
  readonly more?: Iterable<readonly [name: string, action: Action]>;
  /** Makes the call of an action that may loop or never finish. Absent: it does neither. */
  readonly call?: (action: (context: ActionContext) => unknown, context: ActionContext) => unknown;
}

interface ServedAction {
  /** For messages: ` of module "srv_x_module"`, or nothing. */
  readonly owner: string;
  readonly carryOut: Action;
  /** See {@link ActionOptions.transactional}. */
  readonly isTransactional: boolean;
}

const INTERNAL_ERROR = {
  error: { status: 500, code: 'InternalError', text: 'unexpected internal error, see the error log', details: [] },
} as const;

/** Carries out in the master what control-plane processes ask for: the `@action` methods of the data-plane modules. */
export class ActionServer {
  readonly #actions = new Map<string, ServedAction>();
  readonly #assemblers = new Map<string, Assembler>();

  constructor(
    private readonly client: BusClient,
    private readonly log: Log,
    private readonly transact: Transact,
    private readonly outcomes?: ChangeOutcomes,
  ) {}

  /** Makes the actions of these modules callable, and no others. */
  serve(modules: Iterable<ActionModule>): void {
    this.#actions.clear();
    for (const { name: module, instance, more = [], call = callDirectly } of modules) {
      const transactional = transactionalActionsOf(instance);
      const ofSettings = Array.from(more, ([name, action]) => [name, action, true] as const);
      const ofMethods = Array.from(methodsOf(instance), ([name, action]) => [name, action, transactional.has(name)] as const);
      for (const [name, action, isTransactional] of [...ofMethods, ...ofSettings]) {
        const carryOut: Action = (params, context) => call((limits) => action(params, limits), context);
        this.#actions.set(name, { owner: ` of module "${module}"`, carryOut, isTransactional });
      }
    }
  }

  /** @param connected called when the bus is connected, and again after every loss */
  start(connected: () => void = () => undefined): void {
    this.client.start(`${CALL_TOPIC}/+`, {
      // The broker lets a client publish calls under its own id only.
      message: (topic, packet) => {
        const caller = topic.slice(CALL_TOPIC.length + 1);
        for (const message of this.#assemblerOf(caller).add(packet)) if ('id' in message) void this.#take(caller, message);
      },
      connected,
    });
  }

  async stop(): Promise<void> {
    await this.client.stop();
  }

  /** Never rejects. */
  async #run({ action, params }: CallMessage, context: ActionContext): Promise<ReplyMessage> {
    const outcome = await this.#outcome(action, params, context);
    return 'error' in outcome ? { error: toMessage(outcome.error) } : outcome;
  }

  /** Never rejects. */
  async #outcome(action: string, params: unknown, context: ActionContext): Promise<CallOutcome> {
    const served = action === TRANSACTION ? this.#transaction : this.#actions.get(action);
    if (served === undefined) return { error: notLoaded(action) };
    try {
      return { value: await served.carryOut(params, context) };
    } catch (thrown) {
      const error = errorOf(thrown);
      if (error instanceof ApiError) return { error };
      const reason = stackOf(error);
      this.log.write('error', `action ${action}${served.owner} failed, request_id: ${context.requestId}: ${reason}`);
      return { error: new ApiError(500, 'InternalError', 'unexpected internal error, see the error log') };
    }
  }

  readonly #transaction: ServedAction = {
    owner: '',
    carryOut: (params, context) => this.#transact(params as TransactionParams, context),
    isTransactional: false,
  };

  async #transact(params: TransactionParams, context: ActionContext): Promise<TransactionReply> {
    const { requestId } = context;
    const calls = params.calls.map(
      ({ action, params: own, ...conditions }): StagedCall =>
        (time) =>
          this.#partOf(action) ?? this.#outcome(action, own, { ...conditions, ...time, requestId, dryRun: false }),
    );
    const { outcomes, ...rest } = await this.transact(calls, context);
    return { ...rest, outcomes: outcomes.map((outcome) => ('error' in outcome ? { error: toMessage(outcome.error) } : outcome)) };
  }

  /** Why an action cannot be part of a transaction: what it did would stay if the transaction failed. */
  #partOf(action: string): Promise<CallOutcome> | undefined {
    const served = this.#actions.get(action);
    return served === undefined || served.isTransactional ? undefined : Promise.resolve({ error: notTransactional() });
  }

  async #take(caller: string, message: Message): Promise<void> {
    if (message.id === HELLO) {
      for (const greeting of split(HELLO, Buffer.alloc(0))) this.client.send(`${REPLY_TOPIC}/${caller}`, greeting);
      return;
    }
    const call = decode(message.bytes) as CallMessage | undefined;
    if (call === undefined) return;
    if (Date.now() > call.context.deadline) {
      this.log.write('warn', `action ${call.action} arrived after its deadline, request_id: ${call.context.requestId}`);
      return;
    }
    const extendDeadline = (ms: number): void => this.#send(caller, message.id, { wait: ms });
    let change: AppliedChange | undefined;
    const applied = (made: AppliedChange): void => void (change = made);
    const reply = await this.#run(call, { ...call.context, extendDeadline, applied });
    this.#reply(
      caller,
      message.id,
      call,
      change === undefined ? reply : { ...reply, applied: await this.#withOutcome(change, call.context, extendDeadline) },
    );
  }

  async #withOutcome(
    change: AppliedChange,
    { wait }: CallMessage['context'],
    extendDeadline: (ms: number) => void,
  ): Promise<AppliedChange> {
    if (this.outcomes?.isShared !== true) return change;
    const ms = wait * 1000;
    extendDeadline(ms + CALL_LIMIT);
    const cluster = await this.outcomes.outcome(change.version, ms);
    return cluster === undefined ? change : { ...change, cluster };
  }

  /** The result of an action may be something that JSON cannot carry: a BigInt, a circle. */
  #reply(caller: string, id: string, { action, context }: CallMessage, reply: ReplyMessage): void {
    try {
      this.#send(caller, id, reply);
    } catch (error) {
      const [reason] = (error as Error).message.split('\n', 1);
      this.log.write('error', `action ${action} returned what JSON cannot carry, request_id: ${context.requestId}: ${reason}`);
      this.#send(caller, id, INTERNAL_ERROR);
    }
  }

  #send(caller: string, id: string, reply: ReturnMessage): void {
    for (const frame of splitReply(id, reply)) this.client.send(`${REPLY_TOPIC}/${caller}`, frame);
  }

  #assemblerOf(caller: string): Assembler {
    const assembler = this.#assemblers.get(caller) ?? new Assembler();
    // A control process that was restarted comes back under another id; few are alive at a time.
    if (this.#assemblers.size > 16) this.#assemblers.clear();
    this.#assemblers.set(caller, assembler);
    return assembler;
  }
}

function callDirectly(action: (context: ActionContext) => unknown, context: ActionContext): unknown {
  return action(context);
}

function* methodsOf(instance: object): Generator<readonly [name: string, action: Action]> {
  for (const [name, method] of actionsOf(instance)) {
    const action = (instance as Record<string, Action>)[method];
    if (action !== undefined) yield [name, (params, context) => action.call(instance, params, context)];
  }
}

function notLoaded(action: string): ApiError {
  return new ApiError(501, 'NotLoaded', `no module that serves "${action}" is loaded in the data plane`);
}

function splitReply(id: string, reply: ReturnMessage): Buffer[] {
  try {
    return split(id, encode(reply));
  } catch (error) {
    if (!(error instanceof MessageTooLong)) throw error;
    return split(
      id,
      encode({
        error: {
          status: 500,
          code: 'ResponseTooLong',
          text: `the response is too long: ${error.message}`,
          details: [],
        },
      }),
    );
  }
}
