/** Reason phrases and the pages the engine makes itself (nginx's special responses). */

const REASONS: Readonly<Record<number, string>> = {
  100: 'Continue',
  101: 'Switching Protocols',
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  206: 'Partial Content',
  301: 'Moved Permanently',
  302: 'Moved Temporarily',
  303: 'See Other',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Not Allowed',
  406: 'Not Acceptable',
  407: 'Proxy Authentication Required',
  408: 'Request Time-out',
  409: 'Conflict',
  410: 'Gone',
  411: 'Length Required',
  412: 'Precondition Failed',
  413: 'Request Entity Too Large',
  414: 'Request-URI Too Large',
  415: 'Unsupported Media Type',
  416: 'Requested Range Not Satisfiable',
  421: 'Misdirected Request',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Temporarily Unavailable',
  504: 'Gateway Time-out',
  505: 'HTTP Version Not Supported',
  507: 'Insufficient Storage',
};

/** `200 OK`; a status without a known phrase has its three digits only, as nginx sends it. */
export function statusText(status: number): string {
  const reason = REASONS[status];
  return reason === undefined ? `${String(status).padStart(3, '0')} ` : `${status} ${reason}`;
}

/** Statuses whose response never has a body (RFC 9110, 6.4.1). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}

const TITLES: Readonly<Record<number, string>> = {
  302: '302 Found',
  401: '401 Authorization Required',
  494: '400 Request Header Or Cookie Too Large',
  495: '400 The SSL certificate error',
  496: '400 No required SSL certificate was sent',
  497: '400 The plain HTTP request was sent to HTTPS port',
};
const EXTRA: Readonly<Record<number, string>> = {
  494: '<center>Request Header Or Cookie Too Large</center>\r\n',
  495: '<center>The SSL certificate error</center>\r\n',
  496: '<center>No required SSL certificate was sent</center>\r\n',
  497: '<center>The plain HTTP request was sent to HTTPS port</center>\r\n',
};

/** Codes of nginx's own that stand for a 400 with another page. */
export function publicStatus(status: number): number {
  return status >= 494 && status <= 497 ? 400 : status;
}

/**
 * The HTML page for an error or redirect without a page of its own; empty for a status that is not known, as in nginx.
 * @param token `srv` or `srv/1.0` (server_tokens)
 */
export function specialPage(status: number, token: string): string {
  if (REASONS[publicStatus(status)] === undefined) return '';
  const title = TITLES[status] ?? statusText(status).trimEnd();
  const extra = EXTRA[status] ?? '';
  const shown = extra === '' ? title : '400 Bad Request';
  return `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${shown}</h1></center>\r\n${extra}<hr><center>${token}</center>\r\n</body>\r\n</html>\r\n`;
}
