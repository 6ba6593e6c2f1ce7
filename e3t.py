import numpy as np
from scipy.stats import binom
rng=np.random.default_rng(4); worst=-9
for inst in range(25):
    U=300;n=int(rng.integers(2,8));cells=8;a,b=.1,.25
    mass=rng.dirichlet(np.ones(cells)*2); X=(rng.random((n,cells))<.2).astype(int); X[0]=0; d=X@mass; K=int(rng.choice([0,2,5]))
    pref=np.concatenate([rng.permutation(np.arange(1,n)),[0]])
    e=np.unique(np.concatenate([[a,b],np.arange(int(U*a),int(U*b)+1)/U,d])); e=e[(e>=a)&(e<=b)]; v=(e[1:]+e[:-1])/2; w=np.diff(e)/(b-a); m=np.floor(U*v).astype(int)
    Cm=np.where((m-K)[None]>=0,binom.cdf(m-K,U,d[:,None]),0); Cp=binom.cdf(m+K,U,d[:,None]); inn=v[None]>=d[:,None]
    pi=np.where(inn,1-Cm**2,1-(1-Cp)**2-Cm**2); mh=np.full(n,np.inf); best=np.inf
    for h in pref: mh[h]=best; best=min(best,d[h])
    G=(pi*(v[None]<mh[:,None])*w).sum()
    if G<1e-3: continue
    R=100000; c=rng.multinomial(U,mass,(R,2)); D=c@X.T; j=rng.choice(len(v),R,p=w/w.sum()); M=m[j]
    W=d[None]<=v[j][:,None]; B=W|(D.min(1)-K<=M[:,None]); A=D.max(1)+K<=M[:,None]; f=B[:,pref].argmax(1); l=~A[:,pref][np.arange(R),f]
    z=(l.mean()-G)/np.sqrt(l.mean()/R+1e-9); worst=max(worst,z)
    if inst<8: print('%.4f %.4f z %.1f'%(l.mean(),G,z))
print('worst z',worst)
