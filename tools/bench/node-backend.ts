// The backend where nginx is missing: node node-backend.js PORT ADDRESS...
import { createServer } from 'node:http';

const [port, ...addresses] = process.argv.slice(2);
const bodies = new Map([
  ['/1k', Buffer.alloc(1024, 'x')],
  ['/10m', Buffer.alloc(10 * 2 ** 20, 'x')],
]);

for (const address of addresses) {
  createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const body = request.url === '/address' ? Buffer.from(address) : bodies.get(request.url ?? '');
    response.writeHead(body === undefined ? 404 : 200, { 'Content-Length': body?.length ?? 0 });
    response.end(body);
  }).listen(Number(port), address);
}
