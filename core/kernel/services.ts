import { container as rootContainer, type DependencyContainer, type InjectionToken } from 'tsyringe';
import type { ModuleClass } from '../contract/manifest.js';
import { ManifestError } from './manifest-error.js';
import { isModuleService } from './module-services.js';
import { SERVICE_TOKENS } from './service-tokens.js';

/** A service's abstract class, which is its token. */
export type ServiceToken<T> = abstract new (...args: never[]) => T;

/**
 * The services of one server in one thread, found by their abstract class. A child container of its own, so that two servers in one
 * thread share nothing.
 */
export class Services {
  readonly #container: DependencyContainer = rootContainer.createChildContainer();

  /** Makes `service` what modules get that ask for `token` in their constructor. A later call replaces it. */
  provide<T extends object>(token: ServiceToken<T>, service: T): void {
    this.#container.registerInstance(token as unknown as InjectionToken<T>, service);
  }

  /** As {@link provide}, for a service that comes into being after the modules that ask for it. Using it before that throws. */
  provideLater<T extends object>(token: ServiceToken<T>, find: () => T | undefined): void {
    this.provide(token, forwarder(token.name, find) as T);
  }

  /** @throws Error if it is not provided. */
  get<T extends object>(token: ServiceToken<T>): T {
    if (!this.has(token)) throw new Error(`no service ${token.name}`);
    return this.#container.resolve(token as unknown as InjectionToken<T>);
  }

  has(token: ServiceToken<object>): boolean {
    return this.#container.isRegistered(token as unknown as InjectionToken<object>);
  }

  /**
   * Makes the one object of a module's class. A service that it asks for and this thread does not have is a stand-in whose use throws:
   * the class is the same in the master and the workers, and may need in one what does not exist in the other.
   * @param place for the message of a stand-in: `a worker`
   * @param own services that this module has for itself, before those of the server
   * @throws ManifestError when it does not say which services it takes, or names something else; and what the constructor throws
   */
  construct(moduleClass: ModuleClass, place: string, own: ReadonlyMap<unknown, object> = new Map()): object {
    const given = wantedServices(moduleClass).map((token, at) => own.get(token) ?? this.#service(token, at, place));
    // A container of its own for each module would take most of the time that its construction takes.
    return Reflect.construct(moduleClass, given) as object;
  }

  #service(token: unknown, at: number, place: string): object {
    if (isServiceToken(token) && !this.has(token)) this.provide(token, standIn(token.name, place));
    if (isModuleService(token)) throw missingService(token.service);
    if (typeof token === 'function' && this.has(token as ServiceToken<object>)) return this.get(token as ServiceToken<object>);
    throw new ManifestError(
      `parameter ${at + 1} of its constructor is not a service`,
      'services are classes of srv/module, imported without "type"',
    );
  }
}

/** Parameters of a module's constructor, in order. @throws ManifestError if they are unknown */
export function wantedServices(moduleClass: ModuleClass): readonly unknown[] {
  const wanted: unknown = Reflect.getMetadata('design:paramtypes', moduleClass) ?? [];
  if (!Array.isArray(wanted)) throw new ManifestError('"services" must be an array', 'write it as static services = [Log]');
  if (wanted.length >= moduleClass.length) return wanted;
  const message = `it names ${wanted.length} of the ${moduleClass.length} parameters of its constructor`;
  throw new ManifestError(message, 'name them in order: static services = [Log]; TypeScript does it with "emitDecoratorMetadata"');
}

export function missingService(name: string): ManifestError {
  return new ManifestError(`it needs the service "${name}", which no module provides`, 'load the module that provides it before this one');
}

function isServiceToken(value: unknown): value is ServiceToken<object> {
  return SERVICE_TOKENS.has(value);
}

function forwarder(service: string, find: () => object | undefined): object {
  return new Proxy(
    {},
    {
      get(_, member) {
        const target = find();
        if (!target) throw new Error(`${service}.${String(member)}: this service is not ready yet`);
        const value: unknown = Reflect.get(target, member);
        // The service may have private fields, which are its own and not the proxy's.
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    },
  );
}

function standIn(service: string, place: string): object {
  return new Proxy(
    {},
    {
      get(_, member) {
        if (typeof member === 'symbol' || member === 'then') return undefined;
        throw new Error(`${service}.${member}: this service does not exist in ${place}`);
      },
    },
  );
}
