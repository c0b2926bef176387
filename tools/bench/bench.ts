// The benchmark: node dist/tools/bench/bench.js --help
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { judge } from './goals.js';
import { fullPace, Lab, quickPace } from './lab.js';
import { describeCores } from './cores.js';
import { withEarlier } from './earlier.js';
import { intoReport } from './into-report.js';
import { describeMachine } from './machine.js';
import { type Options, parseOptions, usage } from './options.js';
import { measurePairs } from './pairs.js';
import { profileServer } from './profile.js';
import { describeMissing, findPrograms, installMissing, type Programs } from './programs.js';
import { report, type Run } from './report.js';
import { faultsOf, type Result, serversOf } from './results.js';
import { measureRounds } from './rounds.js';
import type { Scenario } from './scenario.js';
import { soak } from './soak.js';
import { allScenarios } from './scenarios/all.js';
import { installedServers, type ServerKind } from './servers.js';

const ENOUGH_ROUNDS = 5;
const reportFile = fileURLToPath(new URL('../../../docs/benchmarks.md', import.meta.url));

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  if (options.install) installMissing(findPrograms());
  const programs = findPrograms();
  for (const line of describeMissing(programs)) say(line);

  const lab = new Lab(programs, options.quick ? quickPace : fullPace, options.dir);
  process.on('exit', () => lab.close());
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)
    process.on(signal, () => process.exit(code));
  await lab.moveAside();
  if (options.profile !== undefined) {
    say(await profileServer(lab, options.profile, options.profileOut));
    return 0;
  }
  if (options.pairs !== undefined) {
    const { text, faults } = await measurePairs(lab, {
      name: options.pairs,
      pairs: options.rounds,
      base: options.base,
      quick: options.quick,
      progress: say,
    });
    for (const line of [`\n${text}`, ...faults.map((fault) => `INVALID: ${fault}`)]) say(line);
    return faults.length > 0 ? 1 : 0;
  }
  if (options.soak !== undefined) {
    const { text, grows } = await soak(lab, options.soak, say);
    say(`\n${text}`);
    return grows ? 1 : 0;
  }
  return measure(lab, programs, options);
}

/** Measures, reports, and returns the exit code: 1 when a figure is worth nothing, whatever the figures are. */
async function measure(lab: Lab, programs: Programs, options: Options): Promise<number> {
  const scenarios = chooseScenarios(options.only);
  const machine = describeMachine(programs, lab.cores.all, lab.dir);
  const { servers, ours } = chooseServers(programs, options);
  say(`${machine.processor}; ${describeCores(lab.cores)}; load average ${machine.loadBefore.toFixed(2)}`);

  const measured: Result[] = [];
  for (const scenario of scenarios) {
    const able = servers.filter(({ name }) => (scenario.oursOnly !== true || name === 'srv') && scenario.without?.includes(name) !== true);
    const result = await measureRounds(lab, scenario, { servers: able, rounds: options.rounds, progress: say });
    if (result.skipped !== undefined) say(`${scenario.name}: not measured, ${result.skipped}`);
    measured.push(result);
  }
  const results = options.earlier === undefined ? measured : withEarlier(options.earlier, measured, allScenarios);
  const run: Run = {
    date: new Date(),
    machine,
    cores: lab.cores,
    pace: lab.pace,
    rounds: options.rounds,
    quick: options.quick,
    ours,
    missing: describeMissing(programs),
    results,
    goals: judge(results, ours),
  };
  publish(run, options);
  return results.some((result) => serversOf(result).some((server) => faultsOf(result, server).length > 0)) ? 1 : 0;
}

function chooseScenarios(only: readonly string[] | undefined): readonly Scenario[] {
  const known = allScenarios.map(({ name }) => name);
  const unknown = only?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`there is no measurement "${unknown}", only ${known.join(', ')}`);
  return only === undefined ? allScenarios : allScenarios.filter(({ name }) => only.includes(name));
}

/** The servers in the order of the command line. Says which of them are not here. */
function chooseServers(programs: Programs, options: Options): { servers: ServerKind[]; ours: string } {
  const installed = installedServers(programs);
  const stand = installed.find(({ name }) => name === options.ours);
  const servers = options.servers.flatMap((name) => {
    const server = name === 'srv' ? stand : installed.find((candidate) => candidate.name === name);
    if (server === undefined) say(`${name === 'srv' ? options.ours : name} is not here and is not measured`);
    return server === undefined ? [] : [name === 'srv' && options.ours !== 'srv' ? { ...server, name: `${server.name} (as srv)` } : server];
  });
  return { servers, ours: options.ours === 'srv' ? 'srv' : `${options.ours} (as srv)` };
}

function publish(run: Run, options: Options): void {
  const text = `${report(run)}\n`;
  say(`\n${text}`);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(run, undefined, 2)}\n`);
  const complete = !run.quick && run.rounds >= ENOUGH_ROUNDS && run.results.length === allScenarios.length && run.ours === 'srv';
  if (options.into !== undefined) writeFileSync(options.into, intoReport(readFileSync(options.into, 'utf8'), run, allScenarios));
  else if (options.write !== undefined) writeFileSync(options.write, text);
  else if (complete) writeFileSync(reportFile, text);
  else say(`${join('docs', 'benchmarks.md')} is left as it is: only a complete run of ${ENOUGH_ROUNDS} rounds is written there.`);
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
