/** What every rendered pod, service and network rule must say. Each fault is a sentence that names the object. */

export interface Manifest {
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  [key: string]: any;
}

const services = ['gateway', 'catalog', 'executor', 'ml'] as const;
const ports: Record<string, number> = { gateway: 8080, catalog: 7071, executor: 7072, ml: 7073 };
/** Where executors ask the catalog, and nobody else. */
const internalPort = 7074;
const calledPort = (caller: string, callee: string) =>
  caller === 'executor' && callee === 'catalog' ? internalPort : ports[callee];
/** Who may call whom: everything else is a fault. */
const callers: Record<string, string[]> = {
  catalog: ['executor', 'gateway'],
  executor: ['gateway'],
  ml: ['gateway'],
};
/** Which secret settings a service is given, and no others. */
const secretsOf: Record<string, string[]> = {
  gateway: [],
  catalog: ['DATAHUB_API_KEY', 'DATAHUB_SEALING_PUBLIC_KEYS', 'DATAHUB_STORE_URL'],
  executor: ['DATAHUB_SEALING_PRIVATE_KEYS'],
  ml: ['DATAHUB_STORE_URL'],
};
/** Never open to the executor: private ranges, loopback, link-local with the metadata services, and their IPv6 kin. */
const closedRanges = {
  '0.0.0.0/0': [
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.168.0.0/16',
  ],
  '::/0': ['::/96', '64:ff9b::/96', 'fc00::/7', 'fe80::/10'],
};

export function faultsOf(objects: Manifest[]): string[] {
  return [
    ...objects.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => `${metadata.name} is a secret.`),
    ...services.flatMap((service) => faultsOfService(service, objects)),
    ...faultsOfDefaultDeny(objects),
    ...callFaults(objects),
  ];
}

const componentOf = (object: Manifest) => object.metadata.labels?.['app.kubernetes.io/component'];
const selected = (selector: any): string | undefined =>
  selector?.podSelector?.matchLabels?.['app.kubernetes.io/component'];

function faultsOfService(service: string, objects: Manifest[]): string[] {
  const find = (kind: string) =>
    objects.find((object) => object.kind === kind && componentOf(object) === service);
  const faults: string[] = [];
  const want = (holds: boolean, what: string) => {
    if (!holds) faults.push(`${service}: ${what}.`);
  };
  for (const kind of ['Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy', 'ConfigMap']) {
    want(find(kind) !== undefined, `has no ${kind}`);
  }
  const deployment = find('Deployment');
  if (deployment !== undefined) faults.push(...podFaults(service, deployment));
  if (service !== 'gateway') want(find('Service')?.spec.clusterIP === 'None', 'its service is not headless');
  const settings = Object.keys(find('ConfigMap')?.data ?? {});
  const secret = settings.filter((name) => /TOKEN|API_KEY|STORE_URL|PRIVATE/.test(name));
  want(
    secret.every((name) => name === 'DATAHUB_SOURCES_PRIVATE'),
    'holds a secret in its ConfigMap',
  );
  if (service === 'executor') {
    const data = find('ConfigMap')?.data ?? {};
    want(data.DATAHUB_SOURCES_PRIVATE === '0', 'dials private ranges');
    want(data.DATAHUB_SOURCES_LOOPBACK === '0', 'dials loopback');
    const own = String(data.DATAHUB_OWN_NAMES).split(',');
    want(
      services.every((name) => own.some((one) => one.endsWith(`-${name}`))),
      'does not know the names of the hub',
    );
  }
  return faults;
}

function podFaults(service: string, deployment: Manifest): string[] {
  const faults: string[] = [];
  const want = (holds: unknown, what: string) => {
    if (!holds) faults.push(`${service}: ${what}.`);
  };
  const template = deployment.spec.template;
  const pod = template.spec;
  const [container, ...others] = pod.containers;
  want(others.length === 0 && pod.initContainers === undefined, 'has containers that nothing is known of');
  want(template.metadata.annotations?.['checksum/settings'], 'does not roll when its settings change');
  want(deployment.spec.strategy?.rollingUpdate?.maxUnavailable === 0, 'loses a pod before the next is ready');
  want(pod.automountServiceAccountToken === false, 'is given a service account token');
  want(!pod.hostNetwork && !pod.hostPID && !pod.hostIPC, "shares the node's namespaces");
  want(
    pod.volumes.every((volume: object) => 'emptyDir' in volume || 'secret' in volume),
    'mounts something of the node',
  );
  want(pod.securityContext?.runAsNonRoot === true, 'may run as root');
  want(pod.securityContext?.runAsUser > 0, 'runs as root');
  want(pod.securityContext?.seccompProfile?.type === 'RuntimeDefault', 'has no seccomp profile');
  want(
    pod.topologySpreadConstraints?.some(
      ({ topologyKey }: { topologyKey: string }) => topologyKey === 'kubernetes.io/hostname',
    ),
    'is not spread over nodes',
  );
  return [...faults, ...containerFaults(service, pod, container)];
}

function containerFaults(service: string, pod: any, container: any): string[] {
  const faults: string[] = [];
  const want = (holds: unknown, what: string) => {
    if (!holds) faults.push(`${service}: ${what}.`);
  };
  const rights = container.securityContext ?? {};
  want(rights.allowPrivilegeEscalation === false, 'may escalate its rights');
  want(rights.privileged !== true, 'is privileged');
  want(rights.readOnlyRootFilesystem === true, 'may write to its image');
  want(rights.capabilities?.drop?.includes('ALL'), 'keeps capabilities');
  want(rights.capabilities?.add === undefined, 'adds capabilities');
  want(container.resources?.limits?.memory && container.resources.limits.cpu, 'has no limits');
  want(container.resources?.requests?.memory && container.resources.requests.cpu, 'has no requests');
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
    want(container[probe], `has no ${probe}`);
  }
  const ready = container.readinessProbe;
  want(
    ready?.httpGet?.path === '/readyz' || (service !== 'gateway' && ready?.grpc),
    'is ready for other reasons than its own',
  );
  const waitSeconds = container.lifecycle?.preStop?.sleep?.seconds ?? 0;
  want(waitSeconds > 0, 'ends before others know');
  want(pod.terminationGracePeriodSeconds >= waitSeconds + 25, 'is killed before it has drained');
  const secrets = (container.env ?? []).map(({ name }: { name: string }) => name);
  want(
    (container.env ?? []).every(({ valueFrom }: any) => valueFrom?.secretKeyRef?.name),
    'has a secret by value',
  );
  const optional = ['DATAHUB_SERVICE_TOKEN', 'DATAHUB_GENERATOR_API_KEY'];
  const named = secrets.filter((name: string) => !optional.includes(name)).sort();
  want(named.join() === secretsOf[service]?.join(), `is given other secrets than its own: ${named.join()}`);
  const tls = pod.volumes.some(({ name }: { name: string }) => name === 'tls');
  want(secrets.includes('DATAHUB_SERVICE_TOKEN') || tls, 'cannot tell who calls');
  return faults;
}

function faultsOfDefaultDeny(objects: Manifest[]): string[] {
  const deny = objects.find(
    ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-default-deny'),
  );
  if (deny === undefined) return ['There is no policy that denies by default.'];
  const { policyTypes, ingress, egress, podSelector } = deny.spec;
  const closed = ingress === undefined && egress === undefined && policyTypes?.length === 2;
  const wide = !('app.kubernetes.io/component' in (podSelector.matchLabels ?? {}));
  return closed && wide ? [] : ['The default policy leaves something open.'];
}

/** Who reaches whom, from both ends: an ingress without its egress is as closed as none. */
function callFaults(objects: Manifest[]): string[] {
  const policyOf = (service: string) =>
    objects.find((object) => object.kind === 'NetworkPolicy' && componentOf(object) === service)?.spec;
  const faults: string[] = [];
  for (const service of services) {
    const policy = policyOf(service);
    if (policy === undefined) continue;
    if (policy.policyTypes?.length !== 2) faults.push(`${service}: its policy covers one direction only.`);
    if ((policy.ingress ?? []).some((rule: any) => !rule.ports?.length)) {
      faults.push(`${service}: a rule opens every port.`);
    }
    if (service !== 'gateway') {
      const open = (policy.ingress ?? []).flatMap((rule: any) =>
        (rule.ports ?? [])
          .filter(({ port }: any) => port === ports[service] || port === internalPort)
          .flatMap(({ port }: any) =>
            (rule.from?.map(selected) ?? ['everybody']).map((name: string) => `${name} on ${port}`),
          ),
      );
      const wanted = callers[service]?.map((name) => `${name} on ${calledPort(name, service)}`);
      if (open.sort().join() !== wanted?.sort().join()) {
        faults.push(`${service}: is reached by ${open.join(', ')}.`);
      }
    }
    const callees = (policy.egress ?? [])
      .flatMap((rule: any) => rule.to?.map(selected) ?? ['everybody'])
      .filter((name: unknown) => name !== undefined)
      .sort();
    const wanted = Object.keys(callers).filter((name) => callers[name]?.includes(service));
    if (callees.join() !== wanted.sort().join()) faults.push(`${service}: reaches ${callees.join()}.`);
    faults.push(...blockFaults(service, policy));
  }
  return faults;
}

function blockFaults(service: string, policy: any): string[] {
  const blocks = (policy.egress ?? [])
    .flatMap((rule: any) => rule.to ?? [])
    .map(({ ipBlock }: any) => ipBlock)
    .filter((block: unknown) => block !== undefined);
  if (service !== 'executor') {
    return blocks.length === 0 ? [] : [`${service}: reaches addresses outside of the cluster.`];
  }
  return Object.entries(closedRanges).flatMap(([cidr, closed]) => {
    const block = blocks.find((one: any) => one.cidr === cidr);
    if (block === undefined) return [`executor: cannot reach databases in ${cidr}.`];
    const missing = closed.filter((range) => !block.except?.includes(range));
    return missing.map((range) => `executor: reaches ${range}.`);
  });
}
