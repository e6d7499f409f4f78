process.send({ channel: 'datahub', id: 1, name: 'started' });
setInterval(() => {}, 1_000);
