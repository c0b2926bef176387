import { DECLINED, type HttpRequest, type Result } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import { fileStatus } from './file-errors.js';
import { figuresOf, readFileNames, readFolder, type FolderEntry } from './folder-entries.js';
import { htmlListing, jsonListing, xmlListing, type HtmlOptions, type Listing } from './listing.js';

/** How folders are listed. */
export interface AutoindexSettings extends HtmlOptions {
  readonly format: 'html' | 'xml' | 'json' | 'jsonp';
}

/** Allowed names of a function of JSONP. */
const CALLBACK = /^[\w.]+$/;

/** Lists a folder. The names are sorted, so they are all in memory; the list itself is made as the client consumes it. */
export async function sendListing(request: HttpRequest, folder: string, settings: AutoindexSettings, log: Log): Promise<Result> {
  const listing = listingOf(request, settings);
  if (listing === undefined) {
    log.write('info', 'client sent invalid callback name', request);
    return 400;
  }
  let entries: readonly FolderEntry[];
  try {
    entries = await readFolder(folder);
  } catch (error) {
    return fileStatus(error, 'opendir()', folder, request, log, true);
  }
  return request.respond(200, listing.type).pipe(listed(folder, entries, listing));
}

/** Redirects to a random file of a folder. {@link DECLINED}: it has none. */
export async function redirectToRandom(request: HttpRequest, folder: string, log: Log): Promise<Result> {
  let names: readonly string[];
  try {
    names = await readFileNames(folder);
  } catch (error) {
    return fileStatus(error, 'opendir()', folder, request, log, true);
  }
  const name = names[Math.floor(Math.random() * names.length)];
  return name === undefined ? DECLINED : request.redirect(request.uri + name, request.args);
}

function listingOf(request: HttpRequest, settings: AutoindexSettings): Listing | undefined {
  if (settings.format === 'html') return htmlListing(request.uri, settings);
  if (settings.format === 'xml') return xmlListing();
  const callback = settings.format === 'jsonp' ? (request.variable('arg_callback') ?? '') : '';
  if (callback === '') return jsonListing(undefined);
  return CALLBACK.test(callback) ? jsonListing(callback) : undefined;
}

async function* listed(folder: string, entries: readonly FolderEntry[], listing: Listing): AsyncGenerator<Buffer> {
  yield Buffer.from(listing.head, 'latin1');
  let separator = '';
  for await (const files of figuresOf(folder, entries)) {
    let text = '';
    for (const file of files) {
      text += separator + listing.entry(file);
      ({ separator } = listing);
    }
    yield Buffer.from(text, 'latin1');
  }
  yield Buffer.from((entries.length > 0 ? listing.last : '') + listing.tail, 'latin1');
}
