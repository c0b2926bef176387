import { exitProcess, forbidExit } from '../kernel/process-exit.js';
import { HelperProcess, type CreateServer } from './helper-process.js';
import { GrantedFiles } from '../config/granted-files.js';
import { AskedSockets } from '../net/asked-sockets.js';
import type { FromHelper, HelperRights, HelperStart, ToHelper } from './helper-start.js';
import { ListenAnnouncements } from './listen-announcements.js';

/**
 * Serves the master as its helper: this process, a child of it, runs one helper module until the master goes.
 * @param createServer undefined: its module gets no `HelperHost`
 */
export function serveMaster(createServer?: CreateServer): void {
  // A terminal sends these to the whole group of processes: what to do about them is the master's decision.
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const) process.on(signal, () => undefined);

  process.once('message', (message: ToHelper) => {
    if (message.kind === 'start') run(message.start, message.rights, createServer);
  });
}

function run(start: HelperStart, rights: HelperRights, createServer: CreateServer | undefined): void {
  process.title = `srv: helper ${start.kind}`;
  forbidExit();
  const announcements = new ListenAnnouncements((listeners) => tell({ kind: 'listens', listeners }));
  const granted = new GrantedFiles(rights.files);
  const sockets = new AskedSockets(
    (id, request) => tell({ kind: 'socket', id, request }),
    (key) => tell({ kind: 'release', key }),
  );
  // A listener on a descriptor closes it: these handles are kept, so that Node.js does not.
  const handles: unknown[] = [];
  const helper = new HelperProcess(start, { announcements, granted, sockets: rights.asksForSockets ? sockets : undefined }, createServer);
  const exit = (code: number): void => {
    helper.flush();
    exitProcess(code);
  };
  const fail = (kind: string, reason: unknown): void => {
    helper.report(kind, reason);
    exit(1);
  };
  process.on('uncaughtException', (error) => fail('uncaught exception', error));
  process.on('unhandledRejection', (reason) => fail('uncaught rejection', reason));
  process.on('message', (message: ToHelper, handle?: { readonly fd: number }) => {
    if (message.kind === 'socket') {
      handles.push(handle);
      sockets.take(message.id, message.error === undefined ? { descriptor: handle?.fd } : { error: message.error });
    } else if (message.kind === 'reload') {
      granted.contents = message.files;
      void helper.reload();
    } else if (message.kind === 'reopen') helper.reopenLogs();
    else if (message.kind === 'known') announcements.confirmed();
    else if (message.kind === 'openSockets') sendSockets(helper);
    else if (message.kind === 'quit') void helper.quit().then(() => exit(0));
    else if (message.kind === 'ping') tell({ kind: 'pong' });
  });
  const end = (): void => void helper.stop().then(() => exit(0));
  // The channel closes when the helper is to end, and also when the master is killed.
  process.once('disconnect', end);
  process.once('SIGTERM', end);
  void helper.start().then((reasons) => {
    if (reasons.length === 0) tell({ kind: 'ready', addresses: helper.addresses });
    else tell({ kind: 'refused', reasons }, () => exit(1));
  });
}

/** The handles stay open here as well. */
function sendSockets(helper: HelperProcess): void {
  for (const { key, handle } of helper.sockets)
    process.send?.({ kind: 'openSocket', key } satisfies FromHelper, handle as never, undefined, () => undefined);
  tell({ kind: 'openSockets' });
}

/** @param sent called when the message has left, or cannot: when the channel is closed the master is gone, and this process ends */
function tell(message: FromHelper, sent: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, sent);
}
