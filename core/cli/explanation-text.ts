import { relative } from 'node:path';
import { escapeControls } from '../log/error-line.js';
import type {
  ExplainedLocation,
  ExplainedMember,
  ExplainedPlace,
  ExplainedStep,
  ExplainedUpstream,
  Explanation,
} from '../contract/explain.js';

/** Columns of the first word. */
const LABEL = 10;
/** Locations that do not match, and are listed. */
const FEW = 5;

/** An explanation for people. */
export function explanationText({
  request,
  listener,
  server,
  locations,
  steps,
  upstream,
  response,
  assumptions,
  log,
}: Explanation): string {
  const lines = [
    `${request.method} ${request.url} from ${request.client}`,
    '',
    row('listener', `${listener.address}${listener.secure ? ' (TLS)' : ''}: ${listener.why}`),
    ...(server ? [row('server', `${server.name === '' ? 'without a name' : server.name}${placeText(server.place)}: ${server.why}`)] : []),
    ...steps.flatMap((step) => stepLines(step, locations)),
    ...(upstream ? upstreamLines(upstream) : []),
    row('response', responseText(response)),
    ...assumptions.map((text) => row('assumed', text)),
    ...log.map((text) => row('log', text)),
  ];
  // The content of a request or a variable must not look like lines of the explanation.
  return `${lines.map(escapeControls).join('\n')}\n`;
}

function row(label: string, text: string): string {
  return `${label.padEnd(LABEL)} ${text}`;
}

function stepLines({ phase, module, text, facts }: ExplainedStep, locations: readonly ExplainedLocation[]): string[] {
  const choice = typeof facts?.['choice'] === 'number' ? locations[facts['choice']] : undefined;
  if (choice !== undefined) return locationLines(choice);
  const place = module === undefined ? '' : ` (${module.replace(/^srv_http_|_module$/g, '')})`;
  return [row(phase, `${text}${place}`)];
}

/** Matching ones matter most; of the others a few are enough. */
function locationLines({ location, why, place, rejected, more }: ExplainedLocation): string[] {
  const shown = rejected.filter(({ matches }, at) => matches || at < FEW);
  const rest = rejected.length - shown.length + more;
  return [
    row('location', `${location ?? 'none'}${placeText(place)}: ${why}`),
    ...shown.map((other) => row('', `not ${other.location}${placeText(other.place)}: ${other.why}`)),
    ...(rest > 0 ? [row('', `not ${rest} more, which do not match`)] : []),
  ];
}

function upstreamLines({ name, scheme, method, uri, version, headers, balancing, members, more, member }: ExplainedUpstream): string[] {
  return [
    row('upstream', `${name}, by ${scheme}: ${method} ${uri}${version === '' ? '' : ` HTTP/${version}`}`),
    ...headers.map(([field, value]) => row('', `${field}: ${value}`)),
    ...(member === undefined ? [row('members', balancing)] : [row('members', `${balancing}: ${member} is chosen`)]),
    ...members.map((one) => row('', memberText(one))),
    ...(more > 0 ? [row('', `and ${more} more`)] : []),
  ];
}

function memberText({ server, state, weight, backup, active, usable }: ExplainedMember): string {
  return `${server} ${state}${usable ? '' : ', not now'}, weight ${weight}${backup ? ', backup' : ''}, ${active} requests`;
}

function responseText({ by, status, location, text }: Explanation['response']): string {
  const to = location === undefined ? '' : `, Location: ${location}`;
  if (by === 'upstream' || by === 'connection') return text;
  return status === undefined || text.startsWith(String(status)) ? `${text}${to}` : `${status}, ${text}${to}`;
}

function placeText(place: ExplainedPlace | undefined): string {
  if (place === undefined) return '';
  const shorter = relative(process.cwd(), place.file);
  return ` (${shorter.startsWith('..') ? place.file : shorter}:${place.line})`;
}
