/** Entry of a helper process: a child of the master that runs one helper module until the master goes. */
import { limitBacktracking } from '../kernel/linear-patterns.js';
import { exitProcess, forbidExit } from '../kernel/process-exit.js';
import { HelperProcess } from './helper-process.js';
import type { FromHelper, HelperStart, ToHelper } from './helper-start.js';

// A terminal sends these to the whole group of processes: what to do about them is the master's decision.
for (const signal of ['SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const) process.on(signal, () => undefined);

process.once('message', (message: ToHelper) => {
  if (message.kind === 'start') run(message.start);
});

function run(start: HelperStart): void {
  process.title = `srv: helper ${start.kind}`;
  forbidExit();
  limitBacktracking();
  const helper = new HelperProcess(start);
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
  process.on('message', (message: ToHelper) => {
    if (message.kind === 'reload') void helper.reload();
    else if (message.kind === 'reopen') helper.reopenLogs();
    else if (message.kind === 'ping') tell({ kind: 'pong' });
  });
  const end = (): void => void helper.stop().then(() => exit(0));
  // The channel closes when the master tells the helper to end, and also when the master is killed.
  process.once('disconnect', end);
  process.once('SIGTERM', end);
  void helper.start().then((reasons) => {
    if (reasons.length === 0) tell({ kind: 'ready', addresses: helper.addresses });
    else tell({ kind: 'refused', reasons }, () => exit(1));
  });
}

/** @param sent called when the message has left, or cannot: when the channel is closed the master is gone, and this process ends */
function tell(message: FromHelper, sent: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, sent);
}
