import test from 'ava';
import { freePort } from '../harness/ports.js';
import { tempFolder } from '../harness/temp.js';
import { MasterTarget } from './master-target.js';
import { NodeTarget } from './node-target.js';
import { KillRounds, type Figures } from './rounds.js';

/** Rounds to play with the part that keeps changes, and with a whole server; the suite plays few. See CONTRIBUTING.md. */
const ROUNDS = Number(process.env['SRV_KILL_ROUNDS'] ?? 15);
const NODE_ROUNDS = Number(process.env['SRV_KILL_NODE_ROUNDS'] ?? 2);

test.serial('kill -9 at any moment loses nothing that was acknowledged, and gives no id to another member', async (t) => {
  t.timeout(ROUNDS * 10_000);
  const rounds = new KillRounds(new MasterTarget(tempFolder(t)), { rounds: ROUNDS, startTime: 150, roundTime: 250 });
  await rounds.play();
  t.log(JSON.stringify(rounds.figures));
  t.is(rounds.figures.rounds, ROUNDS);
  t.true(rounds.figures.answered > ROUNDS);
});

test.serial('the same of a whole server', async (t) => {
  t.timeout(60_000 + NODE_ROUNDS * 30_000);
  const target = new NodeTarget(tempFolder(t), await freePort(t), await freePort(t));
  t.teardown(() => target.kill());
  const report = ({ rounds: done }: Figures): void => void (done % 50 === 0 && t.log(`${done} rounds`));
  const rounds = new KillRounds(target, { rounds: NODE_ROUNDS, startTime: 1500, roundTime: 500, report });
  await rounds.play();
  t.log(JSON.stringify(rounds.figures));
  t.is(rounds.figures.rounds, NODE_ROUNDS);
});
