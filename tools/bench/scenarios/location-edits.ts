import type { RunningSite } from '../running-site.js';
import { OWN_ANSWER, OWN_BODY } from '../site.js';
import type { EditCall } from './edits-module.js';
import { locationText, OTHER, type LocationsShape } from './locations-config.js';

/** Changes of one kind. */
export interface EditKind {
  readonly name: string;
  edit(index: number): EditCall;
  /** A request that sees the change of this number, and what its response is then. Absent: traffic does not see it. */
  readonly seen?: {
    readonly request: (index: number) => { readonly path: string; readonly host: string };
    readonly value: string;
  };
}

/** Blocks that are added, changed and removed as a whole. */
interface Subject {
  readonly name: string;
  /** Where number `index` is added. */
  parent(index: number): string;
  text(index: number, value: string): string;
  /** The response when it is removed. */
  readonly gone?: string;
  readonly request?: NonNullable<EditKind['seen']>['request'];
}

/** @param run names of one run are not those of another */
export function editKinds(site: RunningSite, shape: LocationsShape, run: string): readonly EditKind[] {
  return [...subjectsOf(site, shape, run).flatMap((subject) => wholeKinds(subject, run)), ...directiveKinds(shape, run)];
}

function subjectsOf({ port, backend }: RunningSite, { servers }: LocationsShape, run: string): readonly Subject[] {
  return [
    {
      name: 'location',
      // The first server of the site is the one of every measurement.
      parent: (index) => `server ${1 + (index % servers)}`,
      text: (index, value) => `location = /${run}${index} { return 200 ${value}; }`,
      gone: OTHER,
      request: (index) => ({ path: `/${run}${index}`, host: `s${index % servers}.bench` }),
    },
    {
      name: 'server',
      parent: () => 'http',
      text: (index, value) => `server { listen 127.0.0.1:${port}; server_name ${run}${index}.bench; location / { return 200 ${value}; } }`,
      // Then it is the first server that responds.
      gone: OWN_BODY,
      request: (index) => ({ path: OWN_ANSWER, host: `${run}${index}.bench` }),
    },
    {
      name: 'upstream',
      parent: () => 'http',
      text: (index, value) => `upstream ${run}${index} { server 127.0.0.1:${backend} max_fails=${value.length}; }`,
    },
  ];
}

function wholeKinds(subject: Subject, run: string): EditKind[] {
  const target = (index: number): string => `${run} ${subject.name} ${index}`;
  const seen = (value: string): Pick<EditKind, 'seen'> =>
    subject.request === undefined ? {} : { seen: { request: subject.request, value } };
  return [
    {
      name: `add ${subject.name}`,
      edit: (index) => ({ op: 'add', target: subject.parent(index), name: target(index), text: subject.text(index, 'one') }),
      ...seen('one'),
    },
    {
      name: `change ${subject.name}`,
      edit: (index) => ({ op: 'replace', target: target(index), text: subject.text(index, 'second') }),
      ...seen('second'),
    },
    { name: `remove ${subject.name}`, edit: (index) => ({ op: 'remove', target: target(index) }), ...seen(subject.gone ?? '') },
  ];
}

/** A single directive of a location: only what differs is changed. */
function directiveKinds({ servers, locations }: LocationsShape, run: string): EditKind[] {
  const edit = (index: number, more: string): EditCall => {
    const location = index % locations;
    return { op: 'replace', target: `location ${1 + (index % servers)} ${location}`, text: locationText(location, more) };
  };
  const seconds = run.length;
  return [
    { name: 'change directive', edit: (index) => edit(index, `proxy_send_timeout ${seconds}${index}s;`) },
    // The same location twice.
    { name: 'add, remove directive', edit: (index) => edit(index >> 1, index % 2 === 0 ? 'proxy_connect_timeout 7s;' : '') },
  ];
}
