"""U-Nets, super-resolution and denoising as projects write them by hand; for the recipe book."""
from __future__ import annotations

from typing import List

import torch
from torch import Tensor, nn
from torch.nn import functional


class SubPixelNet(nn.Module):
    """Super-resolution by pixel shuffle."""

    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, 5, 1, 2)
        self.conv2 = nn.Conv2d(16, 16, 3, 1, 1)
        self.conv3 = nn.Conv2d(16, 8, 3, 1, 1)
        self.conv4 = nn.Conv2d(8, 9, 3, 1, 1)
        self.pixel_shuffle = nn.PixelShuffle(3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))


class ThreeConvolutions(nn.Module):
    """The first super-resolution network."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 9, padding=4)
        self.conv2 = nn.Conv2d(16, 8, 5, padding=2)
        self.conv3 = nn.Conv2d(8, 1, 5, padding=2)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv3(self.relu(self.conv2(self.relu(self.conv1(x)))))


class SrBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1, self.bn1, self.prelu = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.PReLU()
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bn2(self.conv2(self.prelu(self.bn1(self.conv1(x)))))


class UpsampleBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, 4 * width, 3, padding=1)
        self.pixel_shuffle = nn.PixelShuffle(2)
        self.prelu = nn.PReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.prelu(self.pixel_shuffle(self.conv(x)))


class SrResNet(nn.Module):
    """Residual super-resolution with blocks called block1 to block6."""

    def __init__(self) -> None:
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(3, 16, 9, padding=4), nn.PReLU())
        self.block2, self.block3, self.block4 = SrBlock(16), SrBlock(16), SrBlock(16)
        self.block5 = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16))
        self.block6 = nn.Sequential(UpsampleBlock(16), UpsampleBlock(16), nn.Conv2d(16, 3, 9, padding=4))

    def forward(self, x: Tensor) -> Tensor:
        first = self.block1(x)
        x = self.block5(self.block4(self.block3(self.block2(first))))
        return (torch.tanh(self.block6(first + x)) + 1) / 2


class EdsrBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(True),
                                  nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) * 0.1


class Edsr(nn.Module):
    """head, body, tail."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1))
        self.body = nn.Sequential(EdsrBlock(16), EdsrBlock(16), nn.Conv2d(16, 16, 3, padding=1))
        self.tail = nn.Sequential(nn.Sequential(nn.Conv2d(16, 64, 3, padding=1), nn.PixelShuffle(2)),
                                  nn.Conv2d(16, 3, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.head(x)
        return self.tail(x + self.body(x))


class Denoiser(nn.Module):
    """Residual noise by a plain stack of convolutions."""

    def __init__(self) -> None:
        super().__init__()
        layers: List[nn.Module] = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(inplace=True)]
        for _ in range(3):
            layers += [nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
        self.dncnn = nn.Sequential(*layers, nn.Conv2d(16, 1, 3, padding=1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        return x - self.dncnn(x)


class NumberedUNet(nn.Module):
    """A U-Net whose parts are members: enc1, pool1, bottleneck, upconv1, dec1."""

    def __init__(self) -> None:
        super().__init__()
        def block(wide: int, out: int) -> nn.Sequential:
            return nn.Sequential(nn.Conv2d(wide, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
                                 nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(inplace=True))
        self.enc1, self.enc2, self.enc3 = block(3, 8), block(8, 16), block(16, 24)
        self.pool = nn.MaxPool2d(2)
        self.bottleneck = block(24, 32)
        self.upconv3, self.dec3 = nn.ConvTranspose2d(32, 24, 2, 2), block(48, 24)
        self.upconv2, self.dec2 = nn.ConvTranspose2d(24, 16, 2, 2), block(32, 16)
        self.upconv1, self.dec1 = nn.ConvTranspose2d(16, 8, 2, 2), block(16, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        e3 = self.enc3(self.pool(e2))
        d3 = self.dec3(torch.cat([self.upconv3(self.bottleneck(self.pool(e3))), e3], dim=1))
        d2 = self.dec2(torch.cat([self.upconv2(d3), e2], dim=1))
        d1 = self.dec1(torch.cat([self.upconv1(d2), e1], dim=1))
        return torch.sigmoid(self.out(d1))


class ListedUNet(nn.Module):
    """A U-Net of lists: downs, ups, bottleneck, final_conv."""

    def __init__(self) -> None:
        super().__init__()
        def block(wide: int, out: int) -> nn.Sequential:
            return nn.Sequential(nn.Conv2d(wide, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
                                 nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))
        widths = (8, 16, 24)
        self.downs = nn.ModuleList(block(w, o) for w, o in zip((3, *widths), widths))
        self.pool = nn.MaxPool2d(2, 2)
        self.ups = nn.ModuleList()
        for below, width in ((32, 24), (24, 16), (16, 8)):
            self.ups.append(nn.ConvTranspose2d(below, width, 2, 2))
            self.ups.append(block(2 * width, width))
        self.bottleneck = block(24, 32)
        self.final_conv = nn.Conv2d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottleneck(x)
        for i, skip in enumerate(reversed(skips)):
            x = self.ups[2 * i + 1](torch.cat((skip, self.ups[2 * i](x)), dim=1))
        return self.final_conv(x)


class ResidualDenseBlock(nn.Module):
    def __init__(self, width: int, grow: int) -> None:
        super().__init__()
        for i in range(5):
            setattr(self, f"conv{i + 1}", nn.Conv2d(width + i * grow, grow if i < 4 else width, 3, 1, 1))
        self.lrelu = nn.LeakyReLU(0.2, inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        parts = [x]
        for i in range(4):
            parts.append(self.lrelu(getattr(self, f"conv{i + 1}")(torch.cat(parts, 1))))
        return self.conv5(torch.cat(parts, 1)) * 0.2 + x


class Rrdb(nn.Module):
    def __init__(self, width: int, grow: int) -> None:
        super().__init__()
        self.rdb1, self.rdb2, self.rdb3 = (ResidualDenseBlock(width, grow) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.rdb3(self.rdb2(self.rdb1(x))) * 0.2 + x


class RrdbNet(nn.Module):
    """The generator of the ESRGAN upscalers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv_first = nn.Conv2d(3, 16, 3, 1, 1)
        self.body = nn.Sequential(*[Rrdb(16, 8) for _ in range(2)])
        self.conv_body = nn.Conv2d(16, 16, 3, 1, 1)
        self.conv_up1 = nn.Conv2d(16, 16, 3, 1, 1)
        self.conv_up2 = nn.Conv2d(16, 16, 3, 1, 1)
        self.conv_hr = nn.Conv2d(16, 16, 3, 1, 1)
        self.conv_last = nn.Conv2d(16, 3, 3, 1, 1)
        self.lrelu = nn.LeakyReLU(0.2, inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        first = self.conv_first(x)
        x = first + self.conv_body(self.body(first))
        x = self.lrelu(self.conv_up1(functional.interpolate(x, scale_factor=2, mode="nearest")))
        x = self.lrelu(self.conv_up2(functional.interpolate(x, scale_factor=2, mode="nearest")))
        return self.conv_last(self.lrelu(self.conv_hr(x)))


class DoubleConv(nn.Module):
    def __init__(self, wide: int, out: int) -> None:
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(wide, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
            nn.Conv2d(out, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))

    def forward(self, x: Tensor) -> Tensor:
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, wide: int, out: int) -> None:
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(wide, out))

    def forward(self, x: Tensor) -> Tensor:
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, wide: int, out: int, bilinear: bool) -> None:
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(wide + out, out)
        else:
            self.up = nn.ConvTranspose2d(wide, out, 2, stride=2)
            self.conv = DoubleConv(2 * out, out)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        return self.conv(torch.cat([skip, self.up(x)], dim=1))


class UNet(nn.Module):
    def __init__(self, bilinear: bool) -> None:
        super().__init__()
        self.inc = DoubleConv(3, 8)
        self.down1, self.down2, self.down3, self.down4 = Down(8, 16), Down(16, 24), Down(24, 32), Down(32, 48)
        self.up1, self.up2 = Up(48, 32, bilinear), Up(32, 24, bilinear)
        self.up3, self.up4 = Up(24, 16, bilinear), Up(16, 8, bilinear)
        self.outc = nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x4 = self.down3(x3)
        x = self.up1(self.down4(x4), x4)
        return self.outc(self.up4(self.up3(self.up2(x, x3), x2), x1))
