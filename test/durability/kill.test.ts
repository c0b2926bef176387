import test from 'ava';
import { tempFolder } from '../harness/temp.js';
import { MasterTarget } from './master-target.js';
import { KillRounds } from './rounds.js';

/** Rounds to play; the suite plays few. */
const ROUNDS = Number(process.env['SRV_KILL_ROUNDS'] ?? 40);

test('kill -9 at any moment loses nothing that was answered, and gives no id to another member', async (t) => {
  t.timeout(ROUNDS * 10_000);
  const rounds = new KillRounds(new MasterTarget(tempFolder(t)), { rounds: ROUNDS, startTime: 150, roundTime: 300 });
  await rounds.play();
  t.log(JSON.stringify(rounds.figures));
  t.is(rounds.figures.rounds, ROUNDS);
  t.true(rounds.figures.answered > ROUNDS);
});
