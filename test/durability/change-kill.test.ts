import { readFileSync } from 'node:fs';
import test from 'ava';
import { startNode } from '../control/node.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { ChangeRounds } from './change-rounds.js';

/** Rounds to play; the suite plays few. See CONTRIBUTING.md. */
const ROUNDS = Number(process.env['SRV_KILL_CHANGE_ROUNDS'] ?? 3);

const DATA = ['dyn_upstream', 'dyn_server', 'location', 'config', 'dyn_header'];
const CONTROL = ['dyn_upstream_api', 'dyn_server_api', 'location_api', 'config_api', 'transactions_api', 'dyn_header'];
const load = (names: readonly string[]): string => names.map((name) => `load_module modules/srv_http_${name}_module.so;`).join(' ');

test('kill -9 of any process among all kinds of changes loses nothing that was answered, and nothing is carried out by half', async (t) => {
  t.timeout(60_000 + ROUNDS * 20_000);
  const locations = [1, 2, 3, 4, 5, 6].map((n) => `location /h${n} { return 204; }`).join(' ');
  const options = { main: load(DATA), controlMain: load(CONTROL), http: 'upstream demo { zone demo 256k; server 127.0.0.1:1; }' };
  const node = await startNode(t, { ...options, server: `server_name file; ${locations}`, allowCrashes: true });
  let { srv } = node;
  const restart = async (): Promise<void> => {
    await srv.exited;
    await waitFor('the helpers to end', () => !srv.hasProcesses());
    // The file may have been saved meanwhile.
    srv = await startSrv(t, readFileSync(node.srv.path('conf/srv.conf'), 'utf8'), { prefix: node.srv.prefix, allowCrashes: true });
  };
  const kill = (): void => srv.signal('SIGKILL');
  const rounds = new ChangeRounds(node, { rounds: ROUNDS, roundTime: 2000, kill, restart });
  await rounds.play().catch((error: Error) => t.fail(`${error.message}\n${srv.log()}`));
  t.log(JSON.stringify(rounds.figures));
  t.is(rounds.figures.rounds, ROUNDS);
  t.true(rounds.figures.answered > 0);
});
