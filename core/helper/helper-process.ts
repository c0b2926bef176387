import { dirname } from 'node:path';
import { configErrorsOf } from '../config/errors.js';
import { messageWithPlace } from '../config/error-report.js';
import { readBusEndpoint, type BusEndpoint } from '../api/bus-endpoint.js';
import { keepPoolSmall } from '../api/small-pool.js';
import { CallLimit } from '../kernel/call-limit.js';
import { LoopGuard } from '../kernel/loop-guard.js';
import { loadHelperModule } from '../kernel/helper-module.js';
import { findInstallation, type Installation } from '../kernel/installation.js';
import { moduleCode } from '../kernel/module-code.js';
import { InstanceInfo } from '../kernel/server-info.js';
import { ModuleServices } from '../kernel/module-services.js';
import { runModule, type RunningModule } from '../kernel/running-module.js';
import { Services } from '../kernel/services.js';
import { ErrorLog } from '../log/error-log.js';
import { AppendedLogFiles } from '../log/log-files.js';
import { BusAccess } from '../contract/bus-access.js';
import { HelperHost } from '../contract/helper-host.js';
import { Log } from '../contract/log.js';
import { LogFiles } from '../contract/log-files.js';
import { ServerInfo } from '../contract/server-info.js';
import type { ControlServer, HelperSurroundings } from './control-server.js';
import type { HelperStart } from './helper-start.js';

/** Makes the server that a helper module may start. */
export type CreateServer = (
  start: HelperStart,
  bus: BusEndpoint,
  log: ErrorLog,
  files: AppendedLogFiles,
  around: HelperSurroundings & { readonly installation: Installation },
) => ControlServer;

/** A helper process: runs the module that its `helper` line names. */
export class HelperProcess {
  readonly #installation = findInstallation();
  readonly #files = new AppendedLogFiles();
  readonly #log: ErrorLog;
  #host: ControlServer | undefined;
  #module: RunningModule | undefined;

  constructor(
    private readonly options: HelperStart,
    private readonly around: HelperSurroundings,
    private readonly createServer: CreateServer | undefined,
  ) {
    this.#log = new ErrorLog(this.#files, `${process.pid}#0`, [{ path: options.errorLog, level: 'error' }]);
  }

  /** Where it listens for people and programs outside of this node's own processes. */
  get addresses(): readonly string[] {
    return this.#host?.addresses ?? [];
  }

  /** Its open sockets. */
  get sockets(): ReturnType<ControlServer['sockets']> {
    return this.#host?.sockets() ?? [];
  }

  /** Returns why it cannot, which the log says too; empty when it does its work. */
  async start(): Promise<readonly string[]> {
    try {
      const { kind, module } = this.options;
      const loaded = await loadHelperModule(kind, module, this.options.prefix, this.#installation);
      keepPoolSmall();
      const bus = readBusEndpoint(this.options.bus);
      this.#host = this.createServer?.(this.options, bus, this.#log, this.#files, {
        ...this.around,
        installation: this.#installation,
      });
      const services = new Services();
      services.provide(Log, this.#log);
      services.provide(LogFiles, this.#files);
      services.provide(BusAccess, bus);
      if (this.#host !== undefined) services.provide(HelperHost, this.#host);
      const { prefix, conf } = this.options;
      const identity = { role: 'control', worker: -1, installation: this.#installation, prefix, confFolder: dirname(conf) } as const;
      services.provide(ServerInfo, new InstanceInfo(identity, () => undefined));
      const limits = { callLimit: new CallLimit(), resourceLimit: new CallLimit(), guard: new LoopGuard() };
      this.#module = runModule(loaded, new ModuleServices(), { services, role: 'control', log: this.#log, ...limits });
      await this.#module.life.start('control');
      return [];
    } catch (error) {
      return this.#refuse(error);
    }
  }

  /** Its configuration file may have changed. */
  async reload(): Promise<void> {
    for (const file of moduleCode.outdated)
      this.#log.write('warn', `"${file}" has changed since it was loaded: "srv -s upgrade" or a restart runs it`);
    try {
      await this.#host?.reload();
    } catch (error) {
      this.#refuse(error);
      this.#log.write('error', 'the current configuration stays as it was');
    }
  }

  reopenLogs(): void {
    for (const failure of this.#files.reopen()) this.#log.write('emerg', failure.message);
  }

  flush(): void {
    this.#files.flush();
  }

  /** Handles an unexpected error. */
  report(kind: string, reason: unknown): void {
    const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    this.#log.write('alert', `helper ${this.options.kind}: ${kind}: ${text}`);
  }

  /** Ends when its calls are over. */
  async quit(): Promise<void> {
    await this.#host?.quit();
    await this.stop();
  }

  async stop(): Promise<void> {
    await this.#module?.life.stop();
  }

  #refuse(failure: unknown): readonly string[] {
    const errors = configErrorsOf(failure);
    const reasons = errors?.map(messageWithPlace) ?? [failure instanceof Error ? failure.message : String(failure)];
    for (const reason of reasons) this.#log.write('emerg', `helper ${this.options.kind}: ${reason}`);
    return reasons;
  }
}
