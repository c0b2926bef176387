/** The configuration of a control plane whose API is that of one module. */
export function controlConfig(apiPort: number, module: string): string {
  return `load_module ${module};
error_log error.log error;
events {
    worker_connections 512;
}
http {
    server {
        listen 127.0.0.1:${apiPort};
        location /api {
            dyn_module_api;
        }
    }
}
`;
}
