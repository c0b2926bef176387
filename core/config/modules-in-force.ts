import type { HttpRequest } from '../contract/http.js';
import type { HttpModule, Lifecycle, ModuleDeclaration } from '../contract/manifest.js';
import type { AnyArgContext, ArgContext, ContextName, EngineName } from '../contract/spec.js';
import type { StreamSession } from '../contract/stream.js';
import type { ResourceLimits } from './holdings.js';
import type { SpecRegistry } from './registry.js';
import type { Variables } from './variables.js';

/** The methods of a module's object that the server calls. */
export type ModuleHooks = Pick<
  HttpModule & Lifecycle,
  | 'start'
  | 'handOver'
  | 'stop'
  | 'compileMain'
  | 'compile'
  | 'compileServer'
  | 'compileTls'
  | 'compileVariables'
  | 'balancer'
  | 'affinity'
  | 'health'
  | 'members'
>;

/** A module as those see it that follow the configuration. */
export interface ModuleInForce {
  readonly name: string;
  readonly file: string;
  readonly declaration: ModuleDeclaration;
  readonly instance: HttpModule & Lifecycle;
  /** Its methods that the server calls. In the main thread of a process calls of modules that do not come with srv are limited in time. */
  readonly hooks: ModuleHooks;
  /** For resources that it has opened while it compiled, in workers as well; undefined: none. */
  readonly resourceLimits: ResourceLimits | undefined;
}

/** The modules of one configuration, in load order, with what they bring together. Immutable. */
export interface ModulesInForce extends Iterable<ModuleInForce> {
  readonly registry: SpecRegistry;
  /** Reads arguments with the variables of requests that these modules have, and paths under the server's folders. */
  readonly args: ArgContext;
  /** The same with the variables of sessions. */
  readonly streamArgs: ArgContext<StreamSession>;
  readonly variables: { readonly http: Variables<HttpRequest>; readonly stream: Variables<StreamSession> };
  /** Reads the arguments of directives in a context. */
  argsIn(context: ContextName): AnyArgContext;
  argsOf(engine: EngineName): AnyArgContext;
}
