/** What a module says about itself, and the decorators that say it. */
import 'reflect-metadata';
import type { SecureContextOptions } from 'node:tls';
import { injectable } from 'tsyringe';
import type { Phase, Scope, HttpHandlers, VariableGetter, VariablePrefix } from './http.js';
import type { Directives } from './spec.js';

/** The version of this contract. A module with another one is refused by name. */
export const API_VERSION = 1;

/** Where a module may be loaded: the data plane, the control plane (the process of `helper ctrl`), or either. */
export type Plane = (typeof PLANES)[number];
export const PLANES = ['data', 'control', 'both'] as const;

export interface Manifest {
  /** The file name without extension: `srv_http_proxy_module`. */
  readonly name: string;
  readonly api: typeof API_VERSION;
  readonly plane?: Plane;
  readonly directives?: Directives;
  /** Modules that must be loaded before this one. */
  readonly needs?: readonly string[];
}

export interface HttpManifest extends Manifest {
  /** Order within a phase, lower first (default 100). */
  readonly phases?: Partial<Record<Phase | 'header' | 'body' | 'log', number>>;
  /** Variables by name. Families of them are {@link HttpModule.variablePrefixes}. */
  readonly variables?: Readonly<Record<string, VariableGetter>>;
}

export interface ControlManifest extends Manifest {
  /** First part of its paths below `/v1/`, and the key of `api_limit_except`: `upstream_api`. */
  readonly key: string;
}

export const HELPERS = ['broker', 'ctrl'] as const;
export interface HelperManifest extends Manifest {
  /** The word behind `helper`. */
  readonly helper: (typeof HELPERS)[number];
}

/** Optional steps in the life of every module. `stop` works after half a `start`. No timers, sockets or files before `start`. */
export interface Lifecycle {
  start?(role: 'master' | 'worker' | 'control'): void | Promise<void>;
  stop?(): void | Promise<void>;
}

/** Certificate, protocols and ciphers of one server, as `tls.createSecureContext` takes them. */
export type TlsSettings = SecureContextOptions;

/** What an HTTP module may implement. */
export interface HttpModule extends Lifecycle {
  /** Called once for each location (and `if`, `limit_except`) when the tree changes. Nothing returned: nothing runs there. */
  compile?(scope: Scope): HttpHandlers | undefined;
  /** Called once for each server: its post_read, server_rewrite. */
  compileServer?(scope: Scope): HttpHandlers | undefined;
  /** Called once for each server that listens with TLS; the first module that returns something decides. */
  compileTls?(scope: Scope): TlsSettings | undefined;
  /** Variables that need the module's services. Same form as in the manifest. */
  readonly variables?: Readonly<Record<string, VariableGetter>>;
  /** Families of variables: `{ http_: rest => request => … }`. */
  readonly variablePrefixes?: Readonly<Record<string, VariablePrefix>>;
}

export type ModuleKind = 'core' | 'http' | 'control' | 'helper';
/** A service, as a constructor asks for it. */
type ServiceClass = abstract new (...args: never[]) => object;
export interface ModuleClass {
  new (...args: never[]): object;
  /** The services that the constructor takes, in order. Only for a class in plain JavaScript: otherwise they are its parameter types. */
  readonly services?: readonly ServiceClass[];
}
export interface ModuleDeclaration {
  readonly kind: ModuleKind;
  readonly manifest: Manifest & Partial<HttpManifest> & Partial<ControlManifest> & Partial<HelperManifest>;
}

const DECLARATION = Symbol.for('srv:module');

function declare(declaration: ModuleDeclaration) {
  return (target: ModuleClass): void => {
    if (target.services) Reflect.defineMetadata('design:paramtypes', target.services, target);
    injectable()(target);
    Reflect.defineMetadata(DECLARATION, declaration, target);
  };
}

/** A feature of the HTTP engine. */
export const httpModule = (manifest: HttpManifest) => declare({ kind: 'http', manifest });
/** Routes of the REST API. */
export const controlModule = (manifest: ControlManifest) => declare({ kind: 'control', manifest: { plane: 'control', ...manifest } });
/** A process of its own beside the data plane. */
export const helperModule = (manifest: HelperManifest) => declare({ kind: 'helper', manifest });
/** Directives and services without a traffic engine. */
export const coreModule = (manifest: Manifest) => declare({ kind: 'core', manifest });

/** What a decorator declared, or undefined if the class is not a module. */
export function declarationOf(target: unknown): ModuleDeclaration | undefined {
  return typeof target === 'function' ? (Reflect.getMetadata(DECLARATION, target) as ModuleDeclaration | undefined) : undefined;
}
