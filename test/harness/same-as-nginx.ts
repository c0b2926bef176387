import test, { type ExecutionContext } from 'ava';
import { startNginx } from './nginx.js';
import { freePort } from './ports.js';
import { testWith } from './programs.js';
import { startSrv } from './srv.js';

/**
 * Two tests of one site: srv does what is asserted, and so does nginx, where it is installed.
 * @param conf the inside of the `http` block, with a server on that port
 */
export function sameAsNginx(
  title: string,
  conf: (t: ExecutionContext, port: number) => string | Promise<string>,
  assertSite: (t: ExecutionContext, port: number) => Promise<void>,
): void {
  test(title, async (t) => {
    const port = await freePort(t);
    await startSrv(t, `events {} http { ${await conf(t, port)} }`);
    await assertSite(t, port);
  });
  testWith('nginx')(`nginx does the same: ${title}`, async (t) => {
    const port = await freePort(t);
    await startNginx(t, await conf(t, port));
    await assertSite(t, port);
  });
}
