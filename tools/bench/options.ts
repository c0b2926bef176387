import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';

export const usage = `Usage: npm run bench -- [options]
       npm run bench -- soak [--minutes N]

  --quick           one short round: shows that the benchmark works, not what the servers can do
  --rounds N        rounds of every measurement (default 5)
  --only a,b        only these measurements: 1k, h2-member, 10m, conn, tls, tls-full, tls-resumed, h2, h2-tls, static-1k, cached-1k, hit-1k, hit-10m, memory-1k, miss-1k, mixed-1k,
                    static-10m, static-10m-tls, gzip, stream-rtt, stream-gb, udp, 640rps, 2400rps, 9600rps, signals, scrape, telemetry, idle, idle-tls, start, workers, members, locations, changes,
                    change-rate, cache-index, cluster-pairs, cluster-join, cluster-zones, cluster-rate, pick-METHOD (pick-round-robin, pick-hash, …)
  --servers a,b     the servers to measure (default srv,nginx,haproxy; there are nginx-sendfile and varnish as well)
  --ours NAME       put another server in the place of srv; "--ours nginx" measures nginx against itself,
                    which shows how far two equal servers differ on this machine
  --json FILE       write every figure of every round
  --earlier FILE    take from the --json of an earlier run of this machine what is not measured now
  --into FILE       put what is measured now in the place of the same in this report, and leave the rest as it is
  --write FILE      write the report here (default docs/benchmarks.md, and only after a complete run)
  --dir FOLDER      where the temporary folder is made (default: the system's)
  --install         install what is missing with apt-get (needs root on Debian)
  --pairs NAME      measure srv and nginx under one load (1k, gzip, …) in turns of 2 s; the median of the ratios
                    of the pairs counts, --rounds is their number (default 10). For a busy machine
  --base DIR        with --pairs: another build of srv in the place of nginx, a folder where \`npm run build\` ran
  --profile NAME    profile srv under one load (1k, static-10m, …) and print where its time goes
  --profile-out DIR keep the .cpuprofile files of --profile
  soak              load srv with all kinds of traffic in turn and tell how its memory grows
  --minutes N       how long (default 10)
  --help            this text
`;

export interface Options {
  readonly quick: boolean;
  readonly rounds: number;
  /** Names of measurements, or undefined for all of them. */
  readonly only: readonly string[] | undefined;
  readonly servers: readonly string[];
  readonly ours: string;
  readonly json: string | undefined;
  readonly earlier: string | undefined;
  readonly into: string | undefined;
  readonly write: string | undefined;
  readonly dir: string;
  readonly install: boolean;
  /** Name of a load, or undefined. */
  readonly pairs: string | undefined;
  readonly base: string | undefined;
  readonly profile: string | undefined;
  readonly profileOut: string | undefined;
  /** Minutes of a soak test, or undefined when none is wanted. */
  readonly soak: number | undefined;
  readonly help: boolean;
}

const roundsOfReport = { full: 5, quick: 1 };
const roundsOfPairs = { full: 10, quick: 2 };

/** Reads the command line. Throws an error with a text for the user when it makes no sense. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      only: { type: 'string' },
      servers: { type: 'string', default: 'srv,nginx,haproxy' },
      ours: { type: 'string', default: 'srv' },
      json: { type: 'string' },
      earlier: { type: 'string' },
      into: { type: 'string' },
      write: { type: 'string' },
      dir: { type: 'string', default: tmpdir() },
      install: { type: 'boolean', default: false },
      pairs: { type: 'string' },
      base: { type: 'string' },
      profile: { type: 'string' },
      'profile-out': { type: 'string' },
      minutes: { type: 'string', default: '10' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.base !== undefined && values.pairs === undefined) throw new Error('--base needs --pairs');
  return {
    quick: values.quick,
    rounds: parseRounds(values.rounds, values.pairs === undefined ? roundsOfReport : roundsOfPairs, values.quick),
    only: values.only === undefined ? undefined : names(values.only),
    servers: names(values.servers),
    ours: values.ours,
    json: values.json,
    earlier: values.earlier,
    into: values.into,
    write: values.write,
    dir: values.dir,
    install: values.install,
    pairs: values.pairs,
    base: values.base,
    profile: values.profile,
    profileOut: values['profile-out'],
    soak: parseSoak(positionals, values.minutes),
    help: values.help,
  };
}

function parseRounds(text: string | undefined, defaults: { full: number; quick: number }, quick: boolean): number {
  if (text === undefined) return quick ? defaults.quick : defaults.full;
  const rounds = Number(text);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds needs a whole number of at least 1, not "${text}"`);
  return rounds;
}

function parseSoak([what, ...more]: readonly string[], minutes: string): number | undefined {
  if (what === undefined) return undefined;
  if (what !== 'soak' || more.length > 0) throw new Error(`"${[what, ...more].join(' ')}" is not known, see --help`);
  const count = Number(minutes);
  if (!(count > 0)) throw new Error(`--minutes needs a number above 0, not "${minutes}"`);
  return count;
}

function names(list: string): string[] {
  return list.split(',').filter((name) => name !== '');
}
