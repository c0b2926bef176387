import { parseTime } from '../../core/contract/duration.js';
import type { PeerView, UpstreamView } from '../../core/contract/upstreams.js';
import type { FormatMember } from './format-json.js';

export function memberSettings({ peers }: UpstreamView): FormatMember[] {
  return Array.from(peers, settingsOf);
}

function settingsOf({ server, weight, backup, state, directive }: PeerView): FormatMember {
  const value = (name: string): string | undefined =>
    directive.args.find(({ text }) => text.startsWith(`${name}=`))?.text.slice(name.length + 1);
  const timeout = value('fail_timeout');
  return {
    server,
    weight,
    backup,
    down: state === 'down',
    maxFails: Number(value('max_fails') ?? 1),
    failTimeout: timeout === undefined ? 10 : Math.round((parseTime(timeout) ?? 10_000) / 1000),
  };
}
